package answer_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qabank"
)

// The source of a question is forgotten while it is answered, but no chunk that its
// answer rests on. The question must not come back with its answer.
func TestQuestionForgottenMeanwhile(t *testing.T) {
	const other = "Lanterns and ferries."
	ctx := context.Background()
	for name, tc := range map[string]struct {
		work   answer.Work
		before func(w *world, source percached.ChunkID) // the work begins
		forget func(w *world, source percached.ChunkID)
		kind   fault.Kind
	}{
		"its source": {
			work:   answer.Work{Origin: "predicted"},
			forget: func(w *world, source percached.ChunkID) { w.docs.drop(source) },
			kind:   fault.Conflict,
		},
		"the source of the stored one": {
			work: answer.Work{Again: true},
			before: func(w *world, source percached.ChunkID) {
				put(t, w, qabank.Entry{Origin: "predicted", Sources: []percached.ChunkID{source}, Stale: true})
			},
			forget: func(w *world, source percached.ChunkID) { w.docs.drop(source) },
			kind:   fault.Conflict,
		},
		"what the stored one rests on": {
			work: answer.Work{Again: true},
			before: func(w *world, source percached.ChunkID) {
				put(t, w, qabank.Entry{Origin: answer.Asked, Evidence: []percached.Evidence{{Chunk: source, Version: 2}}})
			},
			forget: func(w *world, source percached.ChunkID) { w.docs.drop(source) },
			kind:   fault.Conflict,
		},
		"the stored one itself": {
			work: answer.Work{Again: true},
			before: func(w *world, source percached.ChunkID) {
				put(t, w, qabank.Entry{Origin: answer.Asked, Evidence: []percached.Evidence{{Chunk: source, Version: 2}}})
			},
			forget: func(w *world, source percached.ChunkID) {
				w.docs.drop(source)
				if n, err := w.bank.Forget(ctx, "s", []percached.ChunkID{source}); n != 1 || err != nil {
					t.Error(n, err)
				}
			},
			kind: fault.NotFound,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, h := heldWorld(t)
			source := w.docs.put(other)
			tc.work.Space, tc.work.Question = "s", heron.Text
			if tc.before != nil {
				tc.before(w, source)
			}
			if !tc.work.Again {
				tc.work.Sources = []percached.ChunkID{source}
			}
			done := make(chan error)
			go func() {
				_, err := w.Work(ctx, tc.work)
				done <- err
			}()
			<-h.began
			tc.forget(w, source)
			w.Settle()
			close(h.let)
			if err := <-done; fault.KindOf(err) != tc.kind {
				t.Error(err)
			}
			if e, ok, err := w.bank.Exact("s", heron.Text); ok && e.Answered || err != nil {
				t.Errorf("it came back: %+v, %v", e, err)
			}
		})
	}
}

func put(t *testing.T, w *world, e qabank.Entry) {
	t.Helper()
	e.Space, e.Question, e.Made = "s", heron.Text, w.now
	id, err := w.bank.Put(context.Background(), e)
	if err == nil && e.Stale {
		err = w.bank.MarkStale(context.Background(), "s", []qabank.ID{id}, "a test")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A damaged chunk counts as gone: idle work skips it and finds the rest.
func TestDamageHidesNothing(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	w.docs.hurt = w.docs.put(budget)
	if _, err := w.Missing("s", []percached.ChunkID{w.docs.hurt}); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

// Tensors left by idle work change no answer, whatever did not fit and wherever the chunks
// stand.
func TestWarmIsCold(t *testing.T) {
	bodies := []string{budget, "Heron met in Leeds about the budget.", "The budget of Heron grew by ten.", "Heron has a budget and a boat."}
	dropped := false
	for _, placement := range []percached.Placement{percached.Sequential, percached.Parallel} {
		for _, order := range []percached.Order{percached.Relevance, percached.Canonical} {
			for _, room := range []int{4096, 120, 100} {
				set := answer.Default()
				set.Placement, set.Order, set.K, set.MaxTokens = placement, order, 4, 16
				o := llmtest.DefaultOptions()
				o.Context = room
				name := fmt.Sprintf("%v, %s, %d tokens", placement, order, room)
				world := func() *world {
					w := newWorld(t, set, o, nil)
					for _, b := range bodies {
						w.docs.put(b)
					}
					return w
				}
				ctx := context.Background()
				cold, err := world().Ask(ctx, heron, answer.Listener{})
				if err != nil {
					t.Fatal(name, err)
				}
				work := answer.Work{Space: "s", Question: heron.Text, Prefill: true, Origin: "predicted"}
				full, filled := world(), world()
				if _, err := full.Work(ctx, work); err != nil {
					t.Fatal(name, err)
				}
				var ids []percached.ChunkID
				for _, c := range cold.Citations {
					ids = append(ids, c.Chunk)
				}
				if _, err := filled.Fill(ctx, "s", ids); err != nil {
					t.Fatal(name, err)
				}
				// Behind a chunk that was left out between others nothing is found.
				found := placement == percached.Parallel || order == percached.Relevance || cold.Chunks.All == len(bodies)
				dropped = dropped || cold.Chunks.All < len(bodies)
				for _, w := range []*answer.Asker{full.Asker, filled.Asker} {
					warm, err := w.Ask(ctx, answer.Question{Space: "s", Text: heron.Text, Refresh: true}, answer.Listener{})
					if err != nil || warm.Text != cold.Text || warm.Chunks.All != cold.Chunks.All || found && warm.Chunks.Stored != cold.Chunks.All {
						t.Errorf("%s: %+v, then %+v, %v", name, cold.Chunks, warm.Chunks, err)
					}
				}
			}
		}
	}
	if !dropped {
		t.Error("everything did fit")
	}
}

// meddled calls meddle between the last read of a question's entry and the storing of its
// answer.
type meddled struct {
	*fakeDocuments
	meddle func()
}

func (m *meddled) Chunks(space string, ids []percached.ChunkID) ([]percached.Chunk, error) {
	if len(ids) == 0 && m.meddle != nil {
		m.meddle()
	}
	return m.fakeDocuments.Chunks(space, ids)
}

// A change of an entry at the last moment counts too: work neither brings an entry back nor
// replaces another's.
func TestChangedAtTheLastMoment(t *testing.T) {
	ctx := context.Background()
	for name, tc := range map[string]struct {
		work   answer.Work
		before func(w *world)
		meddle func(w *world)
		kind   fault.Kind
		left   string // origin of the entry in the bank then
	}{
		"forgotten": {
			work:   answer.Work{Again: true},
			before: func(w *world) { put(t, w, qabank.Entry{Origin: answer.Asked, Stale: true}) },
			meddle: func(w *world) {
				if err := w.bank.Delete(ctx, "s", qabank.NewID("s", heron.Text)); err != nil {
					t.Error(err)
				}
			},
			kind: fault.NotFound,
		},
		"asked by a person": {
			work:   answer.Work{Origin: "predicted"},
			before: func(*world) {},
			meddle: func(w *world) { put(t, w, qabank.Entry{Origin: answer.Asked, Answered: true}) },
			kind:   fault.Conflict,
			left:   answer.Asked,
		},
		"answered by a person": {
			work:   answer.Work{Prefill: true, Origin: "predicted"},
			before: func(w *world) { put(t, w, qabank.Entry{Origin: "predicted", Stale: true}) },
			meddle: func(w *world) { put(t, w, qabank.Entry{Origin: answer.Asked, Answered: true}) },
			kind:   fault.Conflict,
			left:   answer.Asked,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &meddled{}
			w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) {
				m.fakeDocuments = p.Knowledge.(*fakeDocuments)
				p.Knowledge = m
			})
			w.docs.put(budget)
			tc.before(w)
			m.meddle = func() { tc.meddle(w) }
			tc.work.Space, tc.work.Question = "s", heron.Text
			if _, err := w.Work(ctx, tc.work); fault.KindOf(err) != tc.kind {
				t.Error(err)
			}
			e, there, err := w.bank.Exact("s", heron.Text)
			if err != nil || there != (tc.left != "") || e.Origin != tc.left {
				t.Errorf("in the bank: %+v, %v", e, err)
			}
		})
	}
}
