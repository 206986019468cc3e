package answer_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/llmtest"
)

// held is an engine that waits before it answers.
type held struct {
	*llmtest.Fake
	began chan struct{} // receives once for each Generate
	let   chan struct{} // closed to let all continue
	ended chan error
}

func (h *held) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error) {
	h.began <- struct{}{}
	select {
	case <-h.let:
	case <-ctx.Done():
		h.ended <- ctx.Err()
		return percached.Result{}, fault.Wrap("held", ctx.Err())
	}
	return h.Fake.Generate(ctx, p, emit)
}

func heldWorld(t *testing.T) (*world, *held) {
	h := &held{began: make(chan struct{}, 100), let: make(chan struct{}), ended: make(chan error, 100)}
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) {
		h.Fake = p.Engine.(*llmtest.Fake)
		p.Engine = h
	})
	w.docs.put(budget)
	return w, h
}

var heron = answer.Question{Space: "s", Text: "What is the budget of Heron?"}

func TestIdenticalQuestionsAreComputedOnce(t *testing.T) {
	w, h := heldWorld(t)
	const n = 20
	texts, pieces := make([]string, n), make([]string, n)
	var all sync.WaitGroup
	start := func(i int) {
		all.Go(func() {
			var b strings.Builder
			a, err := w.Ask(context.Background(), heron, answer.Listener{Piece: func(p string) { b.WriteString(p) }})
			if err != nil {
				t.Error(err)
			}
			texts[i], pieces[i] = a.Text, b.String()
		})
	}
	start(0)
	<-h.began // the first is in flight
	for i := 1; i < n; i++ {
		start(i)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.Ask(gone, heron, answer.Listener{}); fault.KindOf(err) != fault.Timeout {
		t.Error(err) // a client that leaves must not harm the others
	}
	close(h.let)
	all.Wait()
	for i := range n {
		if texts[i] == "" || texts[i] != texts[0] || pieces[i] != texts[0] {
			t.Errorf("%d: %q in pieces %q, want %q", i, texts[i], pieces[i], texts[0])
		}
	}
	// Clients that came after the first had ended were served from the bank.
	if extra := len(h.began); extra != 0 {
		t.Errorf("computed %d times more", extra)
	}
}

func TestNobodyWaits(t *testing.T) {
	w, h := heldWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		_, err := w.Ask(ctx, heron, answer.Listener{})
		done <- err
	}()
	<-h.began
	cancel()
	if err := <-done; fault.KindOf(err) != fault.Timeout {
		t.Error(err)
	}
	<-h.ended // the engine was stopped
	close(h.let)
	if a := w.asks(t, heron); a.Outcome != answer.Miss {
		t.Errorf("%+v", a) // nothing of the abandoned one may be stored
	}
}

func TestClose(t *testing.T) {
	w, h := heldWorld(t)
	done := make(chan error)
	go func() {
		_, err := w.Ask(context.Background(), heron, answer.Listener{})
		done <- err
	}()
	<-h.began
	w.Close()
	if err := <-done; fault.KindOf(err) != fault.Unavailable {
		t.Error("answered by a closed asker, or not told why not:", err)
	}
	if _, err := w.Ask(context.Background(), heron, answer.Listener{}); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
}

// A listener that blocks delays nobody else.
func TestSlowListener(t *testing.T) {
	w, h := heldWorld(t)
	stuck, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	done := make(chan answer.Answer)
	go func() {
		a, _ := w.Ask(context.Background(), heron, answer.Listener{Piece: func(string) {
			once.Do(func() { close(stuck) })
			<-release
		}})
		done <- a
	}()
	<-h.began
	close(h.let)
	<-stuck
	if a := w.asks(t, answer.Question{Space: "s", Text: "What is the budget of Otter?"}); a.Text == "" {
		t.Error("no answer")
	}
	close(release)
	if a := <-done; a.Text == "" {
		t.Error("no answer for the slow one")
	}
}

func TestStages(t *testing.T) {
	w, h := heldWorld(t)
	close(h.let)
	told := map[string]bool{}
	a, err := w.Ask(context.Background(), heron, answer.Listener{Stage: func(name string, _ time.Duration) { told[name] = true }})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range a.Times.Stages() {
		if !told[s.Name] {
			t.Errorf("nobody was told of %s", s.Name)
		}
	}
}

// A question after a change of the settings does not join a flight from before it.
func TestNoAnswerOfOtherSettings(t *testing.T) {
	w, h := heldWorld(t)
	w.docs.put("The budget of Heron is known.")
	var all sync.WaitGroup
	ask := func(chunks int) (cited chan answer.Citation) {
		cited = make(chan answer.Citation, 2)
		all.Go(func() {
			a, err := w.Ask(context.Background(), heron, answer.Listener{Cite: func(c answer.Citation) { cited <- c }})
			if err != nil || len(a.Citations) != chunks {
				t.Errorf("%d citations, want %d: %v", len(a.Citations), chunks, err)
			}
		})
		return cited
	}
	<-ask(2)
	one := 1
	w.docs.configure(percached.Settings{K: &one})
	<-ask(1)
	close(h.let)
	all.Wait()
}
