package answer_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/llmtest"
)

func typed(before string) answer.Completion {
	return answer.Completion{Space: "s", Caller: "me", Before: before, Alternatives: 3, MaxTokens: 4}
}

func (w *world) complete(t *testing.T, c answer.Completion) answer.Completed {
	t.Helper()
	done, err := w.Complete(context.Background(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// A text is completed with the chunks that its sentence finds, and nothing of it is stored.
func TestComplete(t *testing.T) {
	var told answer.Completed
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) {
		p.Observer.Completed = func(c answer.Completed) { told = c }
	})
	w.docs.put(budget)
	w.docs.put(rent)
	got := w.complete(t, typed("Hello Tom. The rent of the flat is now "))
	if len(got.Candidates) != 3 || len(got.Citations) != 2 || got.Citations[0].Quote != rent {
		t.Errorf("%+v", got)
	}
	if told.Tokens != got.Tokens {
		t.Errorf("observed %+v, want %+v", told.Tokens, got.Tokens)
	}
	again := w.complete(t, typed("Hello Tom. The rent of the flat is now n"))
	if again.Tokens.Reused == 0 {
		t.Errorf("the next key reuses nothing: %+v", again.Tokens)
	}
	if records, err := w.history.Recent("s", 10); err != nil || len(records) > 0 {
		t.Errorf("the history has %d records, %v", len(records), err)
	}
	if n := w.bank.Stats("s").Entries; n > 0 {
		t.Errorf("the bank has %d entries", n)
	}
}

// It searches anew behind some words, in a new sentence, and when the documents changed.
func TestCompleteSearches(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	w.docs.put(budget)
	for _, step := range []struct {
		before   string
		change   bool
		searches int
	}{
		{before: "The", searches: 0}, // no whole word yet
		{before: "The budget of Her", searches: 1},
		{before: "The budget of Heron", searches: 1},
		{before: "The budget of Heron is 4", searches: 1},
		{before: "The budget of Heron is, as you know, not la", searches: 2},
		{before: "The budget of Heron is, as you know, not la", change: true, searches: 3},
		{before: "The budget of Heron is not large. We pay the rent of the flat now", searches: 4},
		{before: "The budget", searches: 5},
	} {
		if step.change {
			w.docs.put(rent)
		}
		w.complete(t, typed(step.before))
		if w.docs.asked != step.searches {
			t.Errorf("%q: %d searches, want %d", step.before, w.docs.asked, step.searches)
		}
	}
}

// What was computed with a chunk is forgotten with it.
func TestCompleteForgets(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	id := w.docs.put(rent)
	const text = "The rent of the flat is "
	w.complete(t, typed(text))
	w.docs.drop(id)
	w.Settle()
	got := w.complete(t, typed(text))
	if len(got.Citations) > 0 || got.Tokens.Reused > 0 {
		t.Errorf("%+v", got)
	}
}

// Where a chunk goes while a text is completed with it, the text is forgotten.
func TestCompleteMeanwhile(t *testing.T) {
	var w *world
	var id percached.ChunkID
	o := llmtest.DefaultOptions()
	dropped := false
	o.Step = func(s llmtest.Step) {
		if s.Op == llmtest.OpDecode && !dropped {
			dropped = true
			w.docs.drop(id)
		}
	}
	w = newWorld(t, answer.Default(), o, nil)
	id = w.docs.put(rent)
	text := typed("The rent of the flat is ")
	if done, err := w.Complete(t.Context(), text, nil); fault.KindOf(err) != fault.Conflict || len(done.Candidates) > 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if got := w.complete(t, text); got.Tokens.Reused > 0 {
		t.Errorf("%+v", got.Tokens)
	}
}

// A newer request of the same caller for the space ends the older one, and no other.
func TestCompleteNewer(t *testing.T) {
	for name, tc := range map[string]struct {
		newer answer.Completion
		ends  bool
	}{
		"same caller":    {answer.Completion{Space: "s", Caller: "me"}, true},
		"another caller": {answer.Completion{Space: "s", Caller: "you"}, false},
		"another space":  {answer.Completion{Space: "t", Caller: "me"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			computes, free, queued := make(chan struct{}), make(chan struct{}), make(chan struct{})
			o := llmtest.DefaultOptions()
			var places, decodes atomic.Int32
			o.Step = func(s llmtest.Step) {
				switch {
				case s.Op == llmtest.OpQueue && places.Add(1) == 2:
					close(queued)
				case s.Op == llmtest.OpDecode && decodes.Add(1) == 1:
					close(computes)
					<-free
				}
			}
			w := newWorld(t, answer.Default(), o, nil)
			older, newer := make(chan error), make(chan error)
			go func() {
				_, err := w.Complete(context.Background(), typed("The rent is "), nil)
				older <- err
			}()
			<-computes
			c := typed("The rent is n")
			c.Space, c.Caller = tc.newer.Space, tc.newer.Caller
			go func() {
				_, err := w.Complete(context.Background(), c, nil)
				newer <- err
			}()
			<-queued
			close(free)
			if err := <-older; (fault.KindOf(err) == fault.Conflict) != tc.ends || !tc.ends && err != nil {
				t.Errorf("the older request: %v", err)
			}
			if err := <-newer; err != nil {
				t.Errorf("the newer request: %v", err)
			}
		})
	}
}

func TestCompleteRefuses(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	for name, tc := range map[string]struct {
		change func(*answer.Completion)
		kind   fault.Kind
	}{
		"no such space":   {func(c *answer.Completion) { c.Space = "none" }, fault.NotFound},
		"no text":         {func(c *answer.Completion) { c.Before = "" }, fault.Invalid},
		"no alternatives": {func(c *answer.Completion) { c.Alternatives = 0 }, fault.Invalid},
	} {
		c := typed("The rent")
		tc.change(&c)
		if _, err := w.Complete(t.Context(), c, nil); fault.KindOf(err) != tc.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.Close()
	if _, err := w.Complete(t.Context(), typed("The rent"), nil); fault.KindOf(err) != fault.Unavailable {
		t.Error("after Close:", err)
	}
}
