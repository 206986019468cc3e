package idle_test

import (
	"context"
	"errors"
	"testing"

	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/internal/memory"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/scheduler"
)

// Facts are found in what was asked, once, and only if memory is on.
func TestRemember(t *testing.T) {
	w := newWorld(t, nil)
	failing := errors.New("the disk is full")
	var fail error
	book := memory.New(memory.Options{DB: w.meta, Knowledge: w.Knowledge, Now: w.now, Store: func(ctx context.Context, space string, s *knowledgebank.Source) error {
		if fail != nil {
			return fail
		}
		_, err := w.Library.Add(ctx, space, func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
			return emit(s)
		}, nil)
		return err
	}})
	w.Memory = book
	worker, err := idle.New(w.Parts, w.config)
	w.ok(err)
	due := func() []scheduler.Due {
		due, err := worker.Due(t.Context(), space, scheduler.Remember, 10)
		w.ok(err)
		return due
	}
	facts := func() int {
		all, err := book.List(space)
		w.ok(err)
		return len(all)
	}
	if len(due()) != 0 {
		t.Error("work is due before anything was asked")
	}
	w.ok(w.History.Add(space, answer.Record{Asked: w.now(), Question: "I live in Bergen."}, true))
	w.ok(w.History.Add(space, answer.Record{Asked: w.now(), Question: "Who leads Heron?"}, true))
	off := w.set
	off.Memory = false
	w.ok(w.Asker.Configure(off))
	if len(due()) != 0 {
		t.Error("work is due with memory off")
	}
	w.ok(w.Asker.Configure(w.set))
	jobs := due()
	if len(jobs) != 1 {
		t.Fatalf("%d jobs are due, want 1", len(jobs))
	}
	job := scheduler.Job{Kind: scheduler.Remember, Space: space, Subject: jobs[0].Subject}
	fail = failing
	if _, err := worker.Do(t.Context(), job); !errors.Is(err, failing) || len(due()) != 1 {
		t.Errorf("after a failure: %v, due %v", err, due())
	}
	fail = nil
	done, err := worker.Do(t.Context(), job)
	if err != nil || done.Nothing || facts() != 1 || len(due()) != 0 {
		t.Errorf("%+v, %v, %d facts, due %v", done, err, facts(), due())
	}
	if done, err = worker.Do(t.Context(), job); err != nil || !done.Nothing || facts() != 1 {
		t.Errorf("again: %+v, %v, %d facts", done, err, facts())
	}
}
