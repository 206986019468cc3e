package measure_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/eval/measure"
)

// llama is the shape of Llama-3.2-3B.
func llama() measure.Shape {
	return measure.Shape{Layers: 28, Width: 3072, Heads: 24, HeadsKV: 8, HeadSize: 128, FeedForward: 8192, Vocabulary: 128256}
}

// product counts the operations of a matrix product: rows × inner by inner × columns.
func product(rows, inner, columns int) (ops float64) {
	for range rows {
		for range columns {
			ops += 2 * float64(inner)
		}
	}
	return ops
}

// counted counts a model layer by layer. The first tokens of the prompt are stored.
func counted(s measure.Shape, prompt, stored, generated int) (f measure.FLOPs) {
	computed := prompt + generated - stored
	q, kv := s.Heads*s.HeadSize, s.HeadsKV*s.HeadSize
	for range s.Layers {
		for _, wide := range []int{q, kv, kv} {
			ops := product(computed, s.Width, wide)
			f.QKV += ops
			f.Projections += ops
		}
		f.Projections += product(computed, q, s.Width)
		for token := stored; token < prompt+generated; token++ {
			for range s.Heads {
				f.Attention += product(1, s.HeadSize, token+1) + product(1, token+1, s.HeadSize)
			}
		}
		f.FeedForward += 2*product(computed, s.Width, s.FeedForward) + product(computed, s.FeedForward, s.Width)
	}
	f.Head = product(generated, s.Width, s.Vocabulary)
	return f
}

func TestFLOPsAreThoseOfTheMatrices(t *testing.T) {
	for _, s := range []measure.Shape{
		{Layers: 2, Width: 24, Heads: 4, HeadsKV: 2, HeadSize: 6, FeedForward: 40, Vocabulary: 90},
		{Layers: 3, Width: 20, Heads: 3, HeadsKV: 1, HeadSize: 8, FeedForward: 50, Vocabulary: 70}, // heads wider than the model
	} {
		for _, n := range []struct{ prompt, stored, generated int }{{11, 0, 0}, {11, 0, 3}, {11, 7, 3}, {11, 11, 1}, {1, 0, 1}, {0, 0, 0}} {
			attended := int64(0)
			for token := n.stored; token < n.prompt+n.generated; token++ {
				attended += int64(token) + 1
			}
			if d := cmp.Diff(counted(s, n.prompt, n.stored, n.generated), s.Run(n.prompt-n.stored, n.generated, attended)); d != "" {
				t.Errorf("%+v: %s", n, d)
			}
			if d := cmp.Diff(counted(s, n.prompt, 0, n.generated), s.Cold(n.prompt, n.generated)); d != "" {
				t.Errorf("%+v, cold: %s", n, d)
			}
		}
	}
}

func TestAllOfOnesOwn(t *testing.T) {
	f := measure.FLOPs{Projections: 5, QKV: 3, Attention: 10, FeedForward: 200, Head: 4000}
	if f.Total() != 4215 {
		t.Errorf("in all %v; Q, K and V are within the projections", f.Total())
	}
	if d := cmp.Diff(measure.FLOPs{Projections: 10, QKV: 6, Attention: 20, FeedForward: 400, Head: 8000}, f.Add(f)); d != "" {
		t.Error(d)
	}
}

// A token that attends to nothing takes two operations per weight. Of Llama-3.2-3B's
// 3,212,749,824 parameters, all but 175,104 of norms are in matrices.
func TestTwoForEachParameter(t *testing.T) {
	if got, want := llama().Run(0, 1, 0).Total(), 2.0*(3_212_749_824-(2*28+1)*3072); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// The paper's mechanism saves little: of a layer's 100,663,296 weights, 15,728,640 project
// to Q, K and V.
func TestShareQKV(t *testing.T) {
	s := llama()
	share := func(tokens int) float64 { return s.Cold(tokens, 0).ShareQKV() }
	if got := four(share(1)); got != 0.1562 { // with attention to itself: 12,288 of 201,338,880
		t.Errorf("of one token: %v", got)
	}
	if a, b := share(100), share(4000); a <= b {
		t.Errorf("attention grows with the prompt: %v of 100 tokens, %v of 4000", a, b)
	}
	if got := share(0); got != 0 {
		t.Errorf("of none: %v", got)
	}
	if f := s.Run(10, 5, 60); f.Head == 0 || four(f.ShareQKV()) != four(f.QKV/(f.Projections+f.Attention+f.FeedForward)) {
		t.Errorf("the head is not left out: %v", f.ShareQKV())
	}
}

// The paper stores 87 MB per chunk on Llama-3.2-3B: Q, K and V of 152 tokens, about 100
// words, with 4 bytes each; with 2 bytes it would be 303 tokens.
func TestSliceBytes(t *testing.T) {
	s := llama()
	for _, tc := range []struct {
		tokens, planes int
		bytes          float64
		want           int64
	}{
		{1, 3, 4, 28 * (3072 + 1024 + 1024) * 4},
		{152, 3, 4, 87_162_880},
		{303, 3, 2, 86_876_160},
		{152, 2, 2, 17_432_576}, // only K and V, as percached stores them: a fifth
		{1, 2, 34.0 / 32, 28 * 2048 * 34 / 32},
		{0, 3, 4, 0},
	} {
		if got := s.SliceBytes(tc.tokens, tc.planes, tc.bytes); got != tc.want {
			t.Errorf("%d tokens, %d planes of %v bytes: %d, want %d", tc.tokens, tc.planes, tc.bytes, got, tc.want)
		}
	}
}

func TestPaperLatency(t *testing.T) {
	for _, tc := range []struct {
		name              string
		cold, load, share float64
		reused, prompt    int
		want              float64
	}{
		{"nothing reused", 800, 0, 0.25, 0, 400, 800},
		{"all reused", 800, 0, 0.25, 400, 400, 600},
		{"half reused, and loaded", 800, 30, 0.25, 200, 400, 730},
		{"loading may cost more than it saves", 100, 90, 0.15, 400, 400, 175},
		{"no more than there is", 800, 0, 0.25, 900, 400, 600},
		{"no prompt", 0, 0, 0.25, 0, 0, 0},
	} {
		if got := measure.PaperLatency(tc.cold, tc.load, tc.share, tc.reused, tc.prompt); !near(got, tc.want, 1e-9) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// The client waited 12 ms: 10 in percached, and 7 of these in stages. The first token is
// not a stage of its own.
func TestRest(t *testing.T) {
	for _, tc := range []struct {
		name         string
		stages, want map[string]float64
	}{
		{
			"both",
			map[string]float64{"retrieve": 2, "prefill": 5, "first_token": 7, "total": 10},
			map[string]float64{"retrieve": 2, "prefill": 5, "first_token": 7, "total": 10, measure.Between: 3, measure.Outside: 2},
		},
		{
			"stages that overlap",
			map[string]float64{"prefill": 9, "decode": 6, "total": 14},
			map[string]float64{"prefill": 9, "decode": 6, "total": 14, measure.Between: 0, measure.Outside: 0},
		},
		{"no total", map[string]float64{"prefill": 5}, map[string]float64{"prefill": 5}},
	} {
		measure.Rest(tc.stages, 12)
		if d := cmp.Diff(tc.want, tc.stages, cmpopts.EquateApprox(0, 1e-9)); d != "" {
			t.Errorf("%s: %s", tc.name, d)
		}
	}
}
