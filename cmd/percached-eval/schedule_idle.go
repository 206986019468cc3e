package main

import (
	"context"
	"io"
	"path/filepath"
	"slices"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/reader"
	"github.com/percached/percached/scheduler"
)

const mostNamed = 20 // unreadable files that are listed

// readAll reads the documents, oldest first.
func readAll(ctx context.Context, paths []string, stderr io.Writer) (docs []*knowledgebank.Source, err error) {
	rd, err := reader.New(reader.Default())
	if err != nil {
		return nil, err
	}
	unread := 0
	for _, p := range paths {
		if p, err = filepath.Abs(p); err != nil {
			return nil, err
		}
		err := rd.Path(ctx, p, func(s *knowledgebank.Source) error {
			docs = append(docs, s)
			return nil
		}, func(name string, err error) {
			if unread++; unread <= mostNamed {
				cmdline.Say(stderr, "not read: %s: %s", name, cmdline.Sentence(err))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if unread > mostNamed {
		cmdline.Say(stderr, "and %d more", unread-mostNamed)
	}
	if len(docs) == 0 {
		return nil, fault.New(fault.Invalid, "percached: schedule", "found no document to ask about")
	}
	slices.SortStableFunc(docs, func(a, b *knowledgebank.Source) int { return a.Date.Compare(b.Date) })
	return docs, nil
}

// idle adds the next documents and runs all due idle work.
func (c *course) idle(ctx context.Context, n int) error {
	part := c.docs[c.in:until(len(c.docs), n)]
	c.in += len(part)
	p := schedulePhase{Before: n, Threshold: c.threshold, Limit: c.limit, Documents: c.in}
	err := c.each(n, func(s *scheduleSide) error {
		_, err := s.Library.Add(ctx, scheduleSpace, func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
			for _, d := range part {
				if err := emit(d); err != nil {
					return err
				}
			}
			return nil
		}, nil)
		if err != nil {
			return err
		}
		done, err := s.drained(ctx)
		s.total.plus(done)
		if s == c.sides.With {
			p.Done.With, p.Accumulated.With = done, s.total.copied()
		} else {
			p.Done.Without, p.Accumulated.Without = done, s.total.copied()
		}
		return err
	})
	cmdline.Say(c.stderr, "idle work before question %d: %.1f s with the scheduler, %.1f s without", n, p.Done.With.Total.compute(), p.Done.Without.Total.compute())
	c.report.Phases = append(c.report.Phases, p)
	return err
}

// until is the number of documents before a question: half before the first, and all before
// the threshold falls, so that later work is not caused by new documents.
func until(all, n int) int {
	half := (all + 1) / 2
	return half + (all-half)*min(n-1, thresholdFalls-1)/(thresholdFalls-1)
}

// drained runs all due idle work.
func (s *scheduleSide) drained(ctx context.Context) (tally, error) {
	t := tally{}
	st, err := s.Tree.Stats()
	if err != nil {
		return t, err
	}
	stored, spent := st.Stored, processorTime()
	_, drained := s.Scheduler.Drain(ctx, scheduler.DrainRequest{}, func(step scheduler.Step) {
		st, statsErr := s.Tree.Stats()
		if statsErr != nil {
			err = statsErr
			return
		}
		now := processorTime()
		t.count(step, now-spent, int(st.Stored-stored))
		stored, spent = st.Stored, now
	})
	if drained != nil {
		err = drained
	}
	return t, err
}
