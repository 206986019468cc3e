package answer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/llm/llmtest"
)

// memoryWorld has three documents and a fact, which questions with "my" need.
func memoryWorld(t *testing.T, change func(*answer.Settings)) (w *world, fact percached.ChunkID) {
	t.Helper()
	set := answer.Default()
	set.K, set.KRefresh = 2, 2
	if change != nil {
		change(&set)
	}
	w = newWorld(t, set, llmtest.DefaultOptions(), func(p *answer.Parts) {
		p.Memory = func(_, question string) (answer.Consulted, error) {
			c := answer.Consulted{All: []percached.ChunkID{fact}}
			c.Facts, c.Why, c.Needed = 1, "a reason", strings.Contains(question, "my")
			if c.Needed {
				c.Best = c.All
			}
			return c, nil
		}
	})
	for _, d := range []string{"the road of the harbour is long", "the road of the mill is wide", "the road of the park is new"} {
		w.docs.put(d)
	}
	fact = w.docs.put("user road fact")
	return w, fact
}

func cites(a answer.Answer, id percached.ChunkID) bool {
	return slices.ContainsFunc(a.Citations, func(c answer.Citation) bool { return c.Chunk == id })
}

func TestMemory(t *testing.T) {
	w, fact := memoryWorld(t, nil)
	for question, needed := range map[string]bool{"is my road of the harbour long?": true, "user road fact?": false} {
		a := w.ask(t, question)
		if a.Memory == nil || a.Memory.Needed != needed || a.Memory.Why != "a reason" || cites(a, fact) != needed || len(a.Citations) != 2 {
			t.Errorf("%s: %+v, cites the fact: %v of %d", question, a.Memory, cites(a, fact), len(a.Citations))
		}
		// The stored answer is compared with a search that uses facts as it did.
		w.docs.put("zebra " + question[:2])
		if again := w.ask(t, question); again.Outcome != answer.AnswerHit || again.Memory == nil || again.Memory.Needed != needed {
			t.Errorf("%s: asked again: %s, %+v", question, again.Outcome, again.Gate)
		}
	}
	w.docs.drop(fact)
	if a := w.ask(t, "is my road of the mill wide?"); len(a.Citations) != 2 {
		t.Errorf("the fact is gone, and %d chunks are cited", len(a.Citations))
	}
}

func TestMemoryOff(t *testing.T) {
	w, fact := memoryWorld(t, func(s *answer.Settings) { s.Memory = false })
	if a := w.ask(t, "user road fact?"); a.Memory != nil || !cites(a, fact) {
		t.Errorf("%+v, cites the fact: %v", a.Memory, cites(a, fact))
	}
}

// The history keeps answers and decisions only if it is told to.
func TestTrajectories(t *testing.T) {
	for _, keep := range []bool{false, true} {
		w, _ := memoryWorld(t, func(s *answer.Settings) { s.Trajectories = keep })
		a := w.ask(t, "is my road of the harbour long?")
		w.ask(t, "is the mill wide?")
		if err := w.history.MarkWrong("s", "Is my road of the harbour LONG?"); err != nil {
			t.Fatal(err)
		}
		rs, err := w.history.Recent("s", 10)
		if err != nil || len(rs) != 2 {
			t.Fatal(rs, err)
		}
		first, second := rs[0], rs[1]
		if !keep {
			if first.Answer != "" || first.Memory != nil || first.Wrong {
				t.Errorf("%+v", first)
			}
			continue
		}
		if first.Answer != a.Text || first.Memory == nil || !*first.Memory || !first.Wrong {
			t.Errorf("%+v", first)
		}
		if second.Answer == "" || second.Memory == nil || *second.Memory || second.Wrong {
			t.Errorf("%+v", second)
		}
	}
}
