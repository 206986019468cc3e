package answer_test

import (
	"context"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
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
