package answer_test

import (
	"context"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qabank"
)

// If not all of a question's best chunks fit the prompt, its answer stays fresh exactly as
// long as the prompt would be the same.
func TestFreshBesideWhatDoesNotFit(t *testing.T) {
	ctx := context.Background()
	long := strings.Repeat(" lanterns at noon", 30)
	bodies := []string{"Heron is the budget of the Heron: what is the budget of Heron.", "The budget of Heron:" + long, "The budget:" + long}
	for name, tc := range map[string]struct {
		change func(w *world, ids []percached.ChunkID)
		fresh  bool
	}{
		"nothing that bears on it":    {func(w *world, _ []percached.ChunkID) { w.docs.put("Ducks swim.") }, true},
		"one that would be in it":     {func(w *world, _ []percached.ChunkID) { w.docs.put("Heron is the budget of Heron.") }, false},
		"a new one that does not fit": {func(w *world, _ []percached.ChunkID) { w.docs.put("Heron is the budget of Heron:" + long) }, false},
		"one that fits in now": {func(w *world, ids []percached.ChunkID) {
			w.docs.drop(ids[1])
			w.docs.drop(ids[2]) // the chunk left beside the best is old and short
		}, false},
	} {
		for _, placement := range []percached.Placement{percached.Sequential, percached.Parallel} {
			t.Run(name+", "+placement.String(), func(t *testing.T) {
				set, o := answer.Default(), llmtest.DefaultOptions()
				set.Placement, set.MaxTokens, o.Context = placement, 8, 150
				w := newWorld(t, set, o, nil)
				w.docs.put("A budget.")
				var ids []percached.ChunkID
				for _, b := range bodies {
					ids = append(ids, w.docs.put(b))
				}
				if a := w.asks(t, heron); len(a.Citations) != 1 || a.Citations[0].Chunk != ids[0] {
					t.Fatalf("the prompt holds %+v", a.Citations)
				}
				tc.change(w, ids)
				n, err := w.Freshen(ctx, "s")
				if err != nil || (n == 0) != tc.fresh {
					t.Errorf("%d answers became stale, %v", n, err)
				}
				if a := w.asks(t, heron); (a.Outcome == answer.AnswerHit) != tc.fresh {
					t.Errorf("%s: %s", a.Outcome, a.Gate.Why)
				}
			})
		}
	}
}

// An answer found by words alone is served as long as its prompt would be the same. It is
// compared with a whole search once there is one, although it is unknown which documents
// it has seen.
func TestAnswerByWordsAlone(t *testing.T) {
	set := answer.Default()
	set.K = 2
	w := newWorld(t, set, llmtest.DefaultOptions(), nil)
	for _, b := range []string{"The budget of Heron is Heron.", "The budget of Heron.", "The budget."} {
		w.docs.put(b)
	}
	w.docs.words = true
	for i, want := range []answer.Outcome{answer.Miss, answer.AnswerHit, answer.AnswerHit} {
		w.docs.words = i < 2
		if a := w.asks(t, heron); a.Outcome != want {
			t.Errorf("question %d: %s, want %s: %s", i, a.Outcome, want, a.Gate.Why)
		}
	}
	if e, err := w.Bank.Get("s", qabank.NewID("s", heron.Text)); err != nil || e.Seen != w.docs.seq {
		t.Errorf("it has seen %d changes of %d, %v", e.Seen, w.docs.seq, err)
	}
}

// shrinking is an engine whose context is replaced by a shorter one.
type shrinking struct {
	*llmtest.Fake // today's
	shorter       *llmtest.Fake
	times         int    // that Generate replaces it first
	tells         string // what Generate emits before
}

func (s *shrinking) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error) {
	if s.times > 0 {
		s.times--
		s.Fake = s.shorter
		if s.tells != "" {
			if err := emit(s.tells); err != nil {
				return percached.Result{}, err
			}
		}
	}
	return s.Fake.Generate(ctx, p, emit)
}

func (s *shrinking) Prefill(ctx context.Context, p percached.Prompt) (percached.Result, error) {
	return s.Fake.Prefill(ctx, p)
}
func (s *shrinking) Info() percached.ModelInfo { return s.Fake.Info() }

// If the context becomes shorter between a question's plan and its answer, the question is
// planned anew. It cannot be once a part of its answer was sent.
func TestContextBecomesShorter(t *testing.T) {
	long := strings.Repeat(" lanterns at noon", 30)
	for name, tc := range map[string]struct {
		length, maxTokens int
		tells             string
		citations         int
		kind              fault.Kind
	}{
		"shorter":                        {length: 170, maxTokens: 8, citations: 1},
		"as long as the prompt":          {length: 1000, maxTokens: 8, citations: 2},
		"shorter than the longest reply": {length: 170, maxTokens: 300, citations: 1},
		"too short for any document":     {length: 16, maxTokens: 8, kind: fault.Invalid},
		"a part was sent":                {length: 170, maxTokens: 8, tells: "x", citations: 2, kind: fault.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			set, o := answer.Default(), llmtest.DefaultOptions()
			set.MaxTokens = tc.maxTokens
			w := newWorld(t, set, o, func(p *answer.Parts) {
				o.Context = tc.length
				shorter := llmtest.NewFake(o)
				t.Cleanup(func() { shorter.Close() })
				p.Engine = &shrinking{p.Engine.(*llmtest.Fake), shorter, 1, tc.tells}
			})
			w.docs.put("Heron is the budget of the Heron: what is the budget of Heron.")
			w.docs.put("The budget of Heron:" + long)
			told := map[percached.ChunkID]int{}
			a, err := w.Ask(t.Context(), heron, answer.Listener{Cite: func(c answer.Citation) { told[c.Chunk]++ }})
			for chunk, n := range told {
				if n > 1 {
					t.Errorf("a client was told %d times of chunk %s", n, chunk)
				}
			}
			if fault.KindOf(err) != tc.kind || len(a.Citations) != tc.citations || (a.Text == "") != (tc.kind != 0) {
				t.Errorf("%d citations, text %q, %v; want %d citations, kind %v", len(a.Citations), a.Text, err, tc.citations, tc.kind)
			}
		})
	}
}

// Settings of a longer context are replaced a moment after the context became shorter.
func TestSettingsOfLongerContext(t *testing.T) {
	set, o := answer.Default(), llmtest.DefaultOptions()
	set.MaxTokens, o.Context = 300, 170
	w := newWorld(t, set, o, nil)
	w.docs.put(budget)
	if _, err := w.Ask(t.Context(), heron, answer.Listener{}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got %v; ask again is what helps", err)
	}
}
