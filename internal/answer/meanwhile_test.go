package answer_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qkvtree"
)

// What happens while a question is in flight.

func TestForgottenMeanwhile(t *testing.T) {
	for name, forget := range map[string]func(w *world, id percached.ChunkID){
		"gone":     func(w *world, id percached.ChunkID) { w.docs.drop(id) },
		"replaced": func(w *world, id percached.ChunkID) { w.docs.drop(id); w.docs.put(budget) },
		"no space": func(w *world, _ percached.ChunkID) { w.docs.closeSpace() },
	} {
		t.Run(name, func(t *testing.T) {
			w, h := heldWorld(t)
			id := percached.ChunkID{}
			for id = range w.docs.chunks {
			}
			done := make(chan answer.Answer)
			go func() {
				a, err := w.Ask(context.Background(), heron, answer.Listener{})
				if err != nil {
					t.Error(err)
				}
				done <- a
			}()
			<-h.began
			forget(w, id)
			w.Settle()
			close(h.let)
			if a := <-done; a.Text == "" {
				t.Error("no answer")
			}
			if _, ok, err := w.bank.Exact("s", heron.Text); ok || err != nil {
				t.Error("the answer was stored all the same", err)
			}
			w.tree.Nodes("s", func(n qkvtree.Info) { t.Errorf("a slice was stored all the same: %+v", n) })
			if r, err := w.history.Recent("s", 10); len(r) != 0 || err != nil {
				t.Error("the question was remembered all the same", r, err)
			}
		})
	}
}

// Settle waits for a question that has checked its chunks and is being stored.
func TestSettle(t *testing.T) {
	storing, let := make(chan struct{}), make(chan struct{})
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) {
		p.Tree = slowInsert{p.Tree.(*qkvtree.Tree), storing, let}
	})
	w.docs.put(budget)
	done, settled := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); w.ask(t, heron.Text) }()
	<-storing
	go func() { defer close(settled); w.Settle() }()
	select {
	case <-settled:
		t.Error("settled while something is being stored")
	default:
	}
	close(let)
	<-done
	<-settled
}

type slowInsert struct {
	*qkvtree.Tree
	storing, let chan struct{}
}

func (s slowInsert) Insert(r qkvtree.Request, sl []*percached.Slice) error {
	close(s.storing)
	<-s.let
	return s.Tree.Insert(r, sl)
}

// A question after a change does not get the answer of one from before it.
func TestNoAnswerFromBefore(t *testing.T) {
	w, h := heldWorld(t)
	first := make(chan answer.Answer)
	go func() { a, _ := w.Ask(context.Background(), heron, answer.Listener{}); first <- a }()
	<-h.began
	w.docs.put("The budget of Heron is 50 thousand now.")
	second, found := make(chan answer.Answer), make(chan answer.Citation, 2)
	go func() {
		a, _ := w.Ask(context.Background(), heron, answer.Listener{Cite: func(c answer.Citation) { found <- c }})
		second <- a
	}()
	<-found
	close(h.let)
	if a := <-second; len(a.Citations) != 2 {
		t.Errorf("asked after the change: %+v", a.Citations)
	}
	if a := <-first; len(a.Citations) != 1 {
		t.Errorf("asked before: %+v", a.Citations)
	}
	// Whichever was stored last, the served answer knows the change.
	if a := w.asks(t, heron); len(a.Citations) != 2 {
		t.Errorf("%+v", a.Citations)
	}
}

// An answer does not count as knowing a document that existed but could not be found yet.
func TestNotFoundYet(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	w.docs.put(budget)
	const other = "Is the budget of Heron known?"
	w.ask(t, other)
	w.docs.upto = w.docs.seq
	w.docs.put("The budget of Heron is 50 thousand now.")
	w.asks(t, heron)
	w.ask(t, other) // is compared with the search, and must not be confirmed
	if _, err := w.Freshen(context.Background(), "s"); err != nil {
		t.Fatal(err)
	}
	w.docs.upto = 0
	for _, q := range []string{heron.Text, other} {
		if a := w.ask(t, q); a.Outcome == answer.AnswerHit || len(a.Citations) != 2 {
			t.Errorf("%s: %s, %s", q, a.Outcome, a.Gate.Why)
		}
	}
}

// Freshen uses the space's own number of chunks.
func TestFreshenBySpacesOwnSettings(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	for _, s := range []string{budget, "The budget of Heron is known.", "The budget is Otter."} {
		w.docs.put(s)
	}
	for k, more := range map[int]string{1: "Ducks swim.", 5: "Heron."} {
		w.docs.set = percached.Settings{K: &k}
		w.asks(t, answer.Question{Space: "s", Text: heron.Text, Refresh: true})
		w.docs.put(more)
		n, err := w.Freshen(context.Background(), "s")
		if err != nil {
			t.Fatal(err)
		}
		if want := map[int]int{1: 0, 5: 1}[k]; n != want {
			t.Errorf("k=%d: %d stale, want %d", k, n, want)
		}
	}
}

func TestWrongSpaceSettings(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	w.docs.put(budget)
	for _, k := range []int{-1, 0, 1000} {
		w.docs.set = percached.Settings{K: &k}
		if _, err := w.Ask(context.Background(), heron, answer.Listener{}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("k=%d: %v", k, err)
		}
	}
}

// A damaged chunk costs neither answers over other chunks nor stored ones.
func TestDamagedChunk(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), nil)
	w.docs.put(budget)
	w.docs.hurt = w.docs.put("The budget of Heron is known.")
	hurt := w.docs.hurt
	w.docs.hurt = percached.ChunkID{}
	w.asks(t, heron)
	w.docs.hurt = hurt
	a := w.asks(t, heron)
	if a.Outcome == answer.AnswerHit || len(a.Citations) != 1 || !strings.Contains(strings.Join(a.Notes, ";"), "evidence") {
		t.Errorf("%+v", a)
	}
}

// A question that bypasses the bank leaves the bank's answer.
func TestBypassLeavesTheAnswer(t *testing.T) {
	w, h := heldWorld(t)
	close(h.let)
	w.asks(t, heron)
	loud := answer.Question{Space: "s", Text: strings.ToUpper(heron.Text), Bypass: true}
	w.asks(t, loud)
	if e, ok, err := w.bank.Exact("s", heron.Text); !ok || err != nil || e.Question != heron.Text {
		t.Errorf("%q, %v", e.Question, err)
	}
}

// A question whose stored answer is a refusal is forgotten with the chunks it was asked of.
func TestRefusalsRestOnChunks(t *testing.T) {
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) { p.Engine = clueless{p.Engine.(*llmtest.Fake)} })
	id := w.docs.put(budget)
	cold, warm := w.asks(t, heron), w.asks(t, heron)
	if !cold.Refused || warm.Outcome != answer.AnswerHit || len(warm.Citations) != len(cold.Citations) {
		t.Errorf("%+v, %+v", cold, warm)
	}
	if n, err := w.history.Forget("s", []percached.ChunkID{id}); n != 2 || err != nil {
		t.Error(n, err)
	}
}

type clueless struct{ *llmtest.Fake }

func (c clueless) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error) {
	r, err := c.Fake.Generate(ctx, p, func(string) error { return nil })
	r.Text = " I don't know."
	return r, err
}

// A chunk that is forgotten while a question waits in the queue is not told any more.
func TestForgottenWhileWaiting(t *testing.T) {
	for name, after := range map[string]struct {
		change func(w *world)
		want   string // the citation then
		kind   fault.Kind
	}{
		"another is there": {func(w *world) { w.docs.put("The budget of Otter is $12,000.") }, "The budget of Otter is $12,000.", 0},
		"nothing is left":  {func(*world) {}, "", 0},
		"no space":         {func(w *world) { w.docs.closeSpace() }, "", fault.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			w, h := heldWorld(t)
			var first sync.WaitGroup
			first.Go(func() {
				if _, err := w.Ask(context.Background(), heron, answer.Listener{}); err != nil {
					t.Error(err)
				}
			})
			<-h.began
			cited, done := make(chan answer.Citation, 4), make(chan answer.Answer)
			go func() {
				a, err := w.Ask(context.Background(), answer.Question{Space: "s", Text: "What is the budget of Otter?"}, answer.Listener{Cite: func(c answer.Citation) { cited <- c }})
				if fault.KindOf(err) != after.kind {
					t.Error(err)
				}
				done <- a
			}()
			<-cited
			for id := range w.docs.chunks {
				w.docs.drop(id)
			}
			after.change(w)
			close(h.let)
			a := <-done
			var got []string
			for _, c := range a.Citations {
				got = append(got, c.Quote)
			}
			if strings.Join(got, "") != after.want || a.Text == "" && after.kind == 0 {
				t.Errorf("%q cites %q", a.Text, got)
			}
			first.Wait()
		})
	}
}
