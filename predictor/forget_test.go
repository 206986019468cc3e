package predictor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/predictor"
)

func TestForget(t *testing.T) {
	w := start(t)
	rent := w.add("Rent", 1, "The rent rises.")
	dinner := w.add("Dinner", 2, "Dinner is on Friday.")
	w.summarise()
	w.predict(1) // from both
	plan := w.add("Plan", 3, "The plan stands.")
	w.summarise()
	w.predict(1) // from the plan
	_, err := w.fromHistory(t.Context(), "mail", []predictor.Asked{{Question: "When is dinner?", Chunks: dinner}, {Question: "Who am I?"}}, 1)
	w.must(err)
	if cited, err := w.Cited("mail"); len(cited) != 3 || err != nil {
		t.Errorf("cited %v, %v", cited, err)
	}
	w.lib.drop("mail", "Dinner")
	parts, predictions, err := w.Forget("mail", append(dinner, percached.ChunkID{7}))
	if parts != 1 || predictions != 2 || err != nil {
		t.Errorf("%d parts, %d predictions, %v", parts, predictions, err)
	}
	if d := cmp.Diff([]string{"What of Plan: The plan stands?"}, w.questions()); d != "" {
		t.Error(d)
	}
	w.reopen(true)
	if s := w.stats(); s.Parts != 2 || s.Predictions != 1 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
	if parts, predictions, err := w.Forget("mail", dinner); parts+predictions != 0 || err != nil {
		t.Errorf("forgotten twice: %d, %d, %v", parts, predictions, err)
	}
	if parts, predictions, err := w.Forget("none", rent); parts+predictions != 0 || err != nil {
		t.Errorf("a space that is not: %d, %d, %v", parts, predictions, err)
	}
	_, err = w.fromHistory(t.Context(), "mail", []predictor.Asked{{Question: "Who am I?"}}, 1)
	w.must(err)
	if n, err := w.ForgetHistory("mail"); n != 1 || err != nil {
		t.Errorf("%d of the history, %v", n, err)
	}
	if d := cmp.Diff([]string{"What of Plan: The plan stands?"}, w.questions()); d != "" {
		t.Error(d)
	}
	if cited, err := w.Cited("mail"); !cmp.Equal(len(cited), 2) || err != nil || !contains(cited, plan[0]) {
		t.Errorf("cited %v, %v", cited, err)
	}
	if parts, predictions, err := w.DropSpace("mail"); parts != 2 || predictions != 1 || err != nil {
		t.Errorf("%d, %d, %v", parts, predictions, err)
	}
	w.nothingLeft()
}

func contains(all []percached.ChunkID, one percached.ChunkID) bool {
	for _, c := range all {
		if c == one {
			return true
		}
	}
	return false
}

// nothingLeft checks that the predictor has no records.
func (w *world) nothingLeft() {
	w.t.Helper()
	w.must(w.Flush())
	w.must(w.db.View(func(tx *kv.Tx) error {
		return tx.Keys([]byte("P"), func(k []byte, _ int64) error {
			w.t.Errorf("%q is left", k)
			return nil
		})
	}))
}

// held is an engine that waits before it answers.
type held struct {
	engine
	began, let chan struct{}
}

type engine interface {
	Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error)
	Info() percached.ModelInfo
}

func (h *held) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error) {
	h.began <- struct{}{}
	<-h.let
	return h.engine.Generate(ctx, p, emit)
}

// The history is forgotten after it was read and before the engine gets it.
func TestHistoryForgottenWhileRead(t *testing.T) {
	w := start(t)
	w.asked = func() ([]predictor.Asked, error) {
		_, err := w.ForgetHistory("mail")
		return []predictor.Asked{{Question: "When is dinner?"}}, err
	}
	r, err := w.FromHistory(t.Context(), "mail", 2)
	if s := w.stats(); err != nil || len(r.New) != 0 || s.Predictions != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// What is forgotten while the engine works does not come back, and forgetting does not
// wait for the engine.
func TestForgottenMeanwhile(t *testing.T) {
	works := map[string]func(w *world, chunk percached.ChunkID) error{
		"abstract": func(w *world, chunk percached.ChunkID) error {
			_, err := w.Summarise(context.Background(), "mail", chunk)
			return err
		},
		"knowledge": func(w *world, _ percached.ChunkID) error {
			_, err := w.FromKnowledge(context.Background(), "mail", 3)
			return err
		},
		"history": func(w *world, chunk percached.ChunkID) error {
			_, err := w.fromHistory(context.Background(), "mail", []predictor.Asked{{Question: "When?", Chunks: []percached.ChunkID{chunk}}}, 3)
			return err
		},
	}
	forgets := map[string]func(w *world, chunk percached.ChunkID) error{
		"document": func(w *world, chunk percached.ChunkID) error {
			w.lib.drop("mail", "Rent")
			_, _, err := w.Forget("mail", []percached.ChunkID{chunk})
			return err
		},
		"chunk that stays": func(w *world, chunk percached.ChunkID) error {
			_, _, err := w.Forget("mail", []percached.ChunkID{chunk})
			return err
		},
		"document that comes back": func(w *world, chunk percached.ChunkID) error {
			w.lib.drop("mail", "Rent")
			w.add("Rent", 1, "The rent rises.")
			return nil
		},
		"space": func(w *world, _ percached.ChunkID) error {
			delete(w.lib.spaces, "mail")
			_, _, err := w.DropSpace("mail")
			return err
		},
		"space that stays": func(w *world, _ percached.ChunkID) error {
			_, _, err := w.DropSpace("mail")
			return err
		},
		"history": func(w *world, _ percached.ChunkID) error {
			_, err := w.ForgetHistory("mail")
			return err
		},
	}
	for work, do := range works {
		for what, forget := range forgets {
			t.Run(work+"/"+what, func(t *testing.T) {
				w := start(t)
				chunk := w.add("Rent", 1, "The rent rises.")[0]
				if work == "knowledge" {
					w.summarise()
				}
				h := &held{w.o.Engine.(engine), make(chan struct{}), make(chan struct{})}
				w.o.Engine = h
				w.reopen(false)
				done := make(chan error)
				go func() { done <- do(w, chunk) }()
				<-h.began
				w.must(forget(w, chunk))
				close(h.let)
				if err := <-done; err != nil {
					t.Errorf("it failed: %v", err)
				}
				if what == "history" && work != "history" {
					return
				}
				if s := w.stats(); s.Predictions != 0 || s.Parts != 0 && (what != "document that comes back" || s.Waiting == 0) {
					t.Errorf("it came back: %+v", s)
				}
				if what == "document that comes back" && work == "knowledge" {
					return // the next use detects that its part is gone
				}
				w.nothingLeft()
			})
		}
	}
}

// Of two concurrent rounds over the same parts one is stored.
func TestTwoRoundsAtOnce(t *testing.T) {
	w := start(t)
	w.add("Rent", 1, "The rent rises.")
	w.summarise()
	h := &held{w.o.Engine.(engine), make(chan struct{}), make(chan struct{})}
	w.o.Engine = h
	w.reopen(false)
	n := 0
	w.say = func(string) string { n++; return fmt.Sprintf("Who came as number %d?", n) }
	rounds := make(chan predictor.Round)
	for range 2 {
		go func() {
			r, err := w.FromKnowledge(context.Background(), "mail", 1)
			if err != nil {
				t.Error(err)
			}
			rounds <- r
		}()
		<-h.began
	}
	close(h.let)
	a, b := <-rounds, <-rounds
	if len(a.New)+len(b.New) != 1 || w.stats().Predictions != 1 {
		t.Errorf("%+v and %+v", a, b)
	}
	if a.Usage.Computed == 0 || b.Usage.Computed == 0 {
		t.Error("what a round cost is not told")
	}
}

// Forget waits for a task that has checked its chunks and is storing its result.
func TestForgetWaitsForTheStore(t *testing.T) {
	w := start(t)
	chunk := w.add("Rent", 1, "The rent rises.")[0]
	looks := 0
	looking, let := make(chan struct{}), make(chan struct{})
	w.lib.failed = func(percached.ChunkID) error {
		if looks++; looks == 2 { // the second check is the one before it stores
			close(looking)
			<-let
		}
		return nil
	}
	done, forgotten := make(chan error), make(chan error)
	go func() {
		_, err := w.Summarise(context.Background(), "mail", chunk)
		done <- err
	}()
	<-looking
	go func() {
		_, _, err := w.Forget("mail", []percached.ChunkID{chunk})
		forgotten <- err
	}()
	select {
	case <-forgotten:
		t.Error("forgotten while it is being stored")
	default:
	}
	close(let)
	w.must(<-done)
	w.must(<-forgotten)
	w.nothingLeft()
}

// An error of the engine or a check is returned and changes nothing.
func TestFailures(t *testing.T) {
	w := start(t)
	w.add("Dinner", 1, "Dinner is on Friday.")
	w.summarise()
	chunk := w.add("Rent", 2, "The rent rises.")[0]
	before := w.records()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("broken")
	history := []predictor.Asked{{Question: "When?", Chunks: []percached.ChunkID{chunk}}}
	for name, tt := range map[string]struct {
		ctx    context.Context
		engine error
		check  error
		want   error
	}{
		"cancelled": {ctx: ctx, want: context.Canceled},
		"preempted": {ctx: t.Context(), engine: fault.New(fault.Unavailable, "llm", "%w", percached.ErrPreempted), want: percached.ErrPreempted},
		"too late":  {ctx: t.Context(), engine: fmt.Errorf("x: %w", context.DeadlineExceeded), want: context.DeadlineExceeded},
		"broken":    {ctx: t.Context(), engine: broken, want: broken},
		"check":     {ctx: t.Context(), check: broken, want: broken},
	} {
		t.Run(name, func(t *testing.T) {
			real := w.o.Engine
			defer func() { w.o.Engine = real; w.reopen(false) }()
			if tt.engine != nil {
				w.o.Engine = failing{real.(engine), tt.engine}
			}
			w.reopen(false)
			w.check.known = func(string) (bool, error) { return false, tt.check }
			var u predictor.Usage
			var err error
			if tt.check == nil {
				if u, err = w.Summarise(tt.ctx, "mail", chunk); !errors.Is(err, tt.want) {
					t.Errorf("summary: %v", err)
				}
				if tt.engine != nil && u.Computed != 7 {
					t.Errorf("what it had spent is not told: %+v", u)
				}
			}
			if r, err := w.FromKnowledge(tt.ctx, "mail", 2); !errors.Is(err, tt.want) || r.New != nil {
				t.Errorf("knowledge: %+v, %v", r, err)
			}
			if r, err := w.fromHistory(tt.ctx, "mail", history, 2); !errors.Is(err, tt.want) || r.New != nil {
				t.Errorf("history: %+v, %v", r, err)
			}
			if d := cmp.Diff(before, w.records()); d != "" {
				t.Errorf("the disk has changed:\n%s", d)
			}
		})
	}
	w.check.known = func(string) (bool, error) { return false, nil }
	if r := w.predict(2); len(r.New) != 1 {
		t.Errorf("afterwards: %+v", r)
	}
}

// failing is an engine that stops after seven tokens.
type failing struct {
	engine
	err error
}

func (f failing) Generate(context.Context, percached.Prompt, func(string) error) (percached.Result, error) {
	return percached.Result{Usage: percached.Usage{Computed: 7}}, f.err
}

// records are the predictor's records on disk.
func (w *world) records() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	w.must(w.db.View(func(tx *kv.Tx) error {
		return tx.Each([]byte("P"), func(k, v []byte) error {
			all[string(k)] = string(v)
			return nil
		})
	}))
	return all
}
