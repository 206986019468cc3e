package llamacpp

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/gguf"
)

func sprint(v any) string { return fmt.Sprint(v) }

func sameSlice(a, b *percached.Slice) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Model != b.Model || a.Path != b.Path || a.Start != b.Start || a.Planes != b.Planes ||
		!slices.Equal(a.Tokens, b.Tokens) || len(a.Pieces) != len(b.Pieces) {
		return false
	}
	for i := range a.Pieces {
		x, y := a.Pieces[i], b.Pieces[i]
		if x.From != y.From || x.To != y.To || !bytes.Equal(x.KV, y.KV) || !bytes.Equal(x.Q, y.Q) {
			return false
		}
	}
	return true
}

// numbers makes segments of exact lengths out of random tokens.
type numbers struct{ *rand.Rand }

func newNumbers(seed uint64) numbers { return numbers{rand.New(rand.NewPCG(seed, 1))} }

func (r numbers) tokens(n int) []int32 {
	t := make([]int32, n)
	for i := range t {
		t[i] = int32(r.IntN(250))
	}
	return t
}

// prompt makes system, chunks and question of the lengths given.
func (r numbers) prompt(p percached.Placement, lengths ...int) percached.Prompt {
	pr := percached.Prompt{Placement: p, MaxTokens: 8, Logits: true}
	for i, n := range lengths {
		kind := percached.KindChunk
		switch i {
		case 0:
			kind = percached.KindSystem
		case len(lengths) - 1:
			kind = percached.KindQuestion
		}
		pr.Segments = append(pr.Segments, percached.Segment{Kind: kind, Tokens: r.tokens(n)})
	}
	return pr
}

// capturing asks for every slice but the question's.
func capturing(p percached.Prompt) percached.Prompt {
	p.Segments = slices.Clone(p.Segments)
	for i := range p.Segments[:len(p.Segments)-1] {
		p.Segments[i].Capture = true
	}
	return p
}

// with puts the slices in whose bit is set.
func with(p percached.Prompt, stored []*percached.Slice, mask int) percached.Prompt {
	p.Segments = slices.Clone(p.Segments)
	for i := range p.Segments {
		if mask&(1<<i) != 0 {
			p.Segments[i].Slice = stored[i]
		}
	}
	return p
}

func generate(t testing.TB, e *Engine, p percached.Prompt) percached.Result {
	t.Helper()
	r, err := e.Generate(context.Background(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// equal fails unless two runs gave the same bits.
func equal(t testing.TB, what string, cold, warm percached.Result) {
	t.Helper()
	if len(cold.Logits) == 0 || len(cold.Logits) != len(warm.Logits) {
		t.Fatalf("%s: %d and %d scores", what, len(cold.Logits), len(warm.Logits))
	}
	for i := range cold.Logits {
		if math.Float32bits(cold.Logits[i]) != math.Float32bits(warm.Logits[i]) {
			t.Fatalf("%s: score %d is %v cold and %v warm", what, i, cold.Logits[i], warm.Logits[i])
		}
	}
	if cold.Text != warm.Text {
		t.Fatalf("%s: cold text %q, warm text %q", what, cold.Text, warm.Text)
	}
}

// settings are the ways to keep tensors that llama.cpp allows.
var settings = []struct{ key, value, flash string }{
	{"f16", "f16", "on"},
	{"f16", "f16", "off"},
	{"q8_0", "q8_0", "on"},
	{"q8_0", "f16", "off"},
	{"q4_0", "q4_0", "on"},
	{"q8_0", "q4_0", "auto"},
}

func TestWarmEqualsCold(t *testing.T) {
	for _, arch := range []string{"llama", "qwen2", "qwen3", "qwen3moe", "gemma3"} { // gemma3's window is shorter than the prompts
		if testing.Short() && strings.HasPrefix(arch, "qwen") {
			continue
		}
		for i, s := range settings {
			if testing.Short() && i > 1 {
				break
			}
			t.Run(fmt.Sprintf("%s/%s-%s-flash-%s", arch, s.key, s.value, s.flash), func(t *testing.T) {
				o := gguf.RandomOptions{Shape: "tiny", Architecture: arch, Seed: 7, Type: "f16"}
				e := open(t, o, func(c *Config) { c.KeyType, c.ValueType, c.FlashAttn = s.key, s.value, s.flash })
				if e.Info().NoSlices != "" {
					t.Fatal(e.Info().NoSlices)
				}
				testLengths(t, e)
				testSubsets(t, e)
				testOrders(t, e)
			})
		}
	}
}

// placements are those that a model allows.
func placements(e *Engine) []percached.Placement {
	if e.Info().NoParallel != "" {
		return []percached.Placement{percached.Sequential}
	}
	return []percached.Placement{percached.Sequential, percached.Parallel}
}

// testLengths: chunks of every length from 1 to 130, five in a prompt.
func testLengths(t *testing.T, e *Engine) {
	r := newNumbers(2)
	for _, place := range placements(e) {
		for n := 1; n <= 26; n++ {
			p := r.prompt(place, n, n, 131-n, 26+n, 105-n, 52+n, 27-n)
			cold := generate(t, e, capturing(p))
			warm := generate(t, e, with(p, cold.Slices, 0b111111))
			equal(t, fmt.Sprintf("placement %d, chunks of %d tokens and so on", place, n), cold, warm)
			if want := 3*n + 131 - n + 26 + n + 105 - n + 52; warm.Usage.Reused != want {
				t.Fatalf("reused %d tokens instead of %d", warm.Usage.Reused, want)
			}
		}
	}
}

// testSubsets: 0 to 6 chunks; sequential every stored prefix, parallel every
// stored subset.
func testSubsets(t *testing.T, e *Engine) {
	r := newNumbers(3)
	for chunks := 0; chunks <= 6; chunks++ {
		lengths := []int{20}
		for range chunks {
			lengths = append(lengths, 1+r.IntN(60))
		}
		lengths = append(lengths, 9)
		for _, place := range placements(e) {
			p := r.prompt(place, lengths...)
			cold := generate(t, e, capturing(p))
			for mask := range 1 << (chunks + 1) {
				prefix, root := mask&(mask+1) == 0, mask&1 != 0
				if (place == percached.Sequential && !prefix) || (place == percached.Parallel && !root && mask%5 != 0) {
					continue
				}
				warm := generate(t, e, with(capturing(p), cold.Slices, mask))
				equal(t, fmt.Sprintf("placement %d, %d chunks, stored %07b", place, chunks, mask), cold, warm)
				for i, s := range warm.Slices {
					if s != nil && !sameSlice(s, cold.Slices[i]) {
						t.Fatalf("the slice of segment %d differs from the cold one's (stored %07b)", i, mask)
					}
				}
			}
		}
	}
}

// testOrders: side by side, the order in which chunks are named means nothing.
func testOrders(t *testing.T, e *Engine) {
	r := newNumbers(4)
	p := r.prompt(percached.Parallel, 16, 30, 41, 7, 64, 12)
	cold := generate(t, e, capturing(p))
	for range 24 {
		order := r.Perm(4)
		q := p
		q.Segments = slices.Clone(p.Segments)
		stored := slices.Clone(cold.Slices)
		for i, from := range order {
			q.Segments[1+i], stored[1+i] = p.Segments[1+from], cold.Slices[1+from]
		}
		equal(t, fmt.Sprintf("order %v cold", order), cold, generate(t, e, q))
		equal(t, fmt.Sprintf("order %v warm", order), cold, generate(t, e, with(q, stored, r.IntN(32))))
	}
}

// A slice of another chunk that is dressed up to pass every check changes the
// answer: so the tests above can fail.
func TestWrongSliceChangesAnswer(t *testing.T) {
	e := open(t, tiny, nil)
	r := newNumbers(5)
	for _, place := range []percached.Placement{percached.Sequential, percached.Parallel} {
		a, b := r.prompt(place, 20, 50, 9), r.prompt(place, 20, 50, 9)
		b.Segments[0] = a.Segments[0]
		cold, other := generate(t, e, capturing(a)), generate(t, e, capturing(b))
		forged := *cold.Slices[1]
		forged.Pieces = slices.Clone(other.Slices[1].Pieces)
		stored := []*percached.Slice{cold.Slices[0], &forged, nil}
		warm := generate(t, e, with(a, stored, 0b11))
		if slices.Equal(cold.Logits, warm.Logits) || cold.Text == warm.Text {
			t.Fatalf("placement %d: a wrong slice changed nothing (text %q)", place, warm.Text)
		}
		equal(t, "after it", cold, generate(t, e, a))
	}
}
