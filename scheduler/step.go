package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// End says how a job ended.
type End string

// The ends.
const (
	EndDone      End = "done"
	EndNothing   End = "nothing"   // there was nothing to do, or what it was about is gone
	EndPreempted End = "preempted" // it gave way; it stays in the queue
	EndFailed    End = "failed"    // it is tried again later
	EndParked    End = "parked"    // it failed too often
)

// Step is what one step came to: a job, or why there was none.
type Step struct {
	Job     *Job          `json:"job,omitempty"` // as it is behind the step
	Done    Done          `json:"done,omitzero"`
	Took    time.Duration `json:"took_ns"`
	End     End           `json:"end,omitempty"`
	Reasons []Reason      `json:"reasons,omitempty"` // all of them
	// Wake is when they may have ended, if there was no job; zero: not before
	// something happens.
	Wake time.Time `json:"wake,omitzero"`
}

// Step does at most one job, if work is allowed now. It does not wait for
// that, only for a step that another caller has under way.
func (s *Scheduler) Step(ctx context.Context) (Step, error) {
	st, err := s.step(ctx, nil)
	return st, fault.Wrap("scheduler.Step", err)
}

// step does a job. For an errand all rules are left aside but a person's.
func (s *Scheduler) step(ctx context.Context, e *errand) (Step, error) {
	select {
	case s.line <- struct{}{}:
		defer func() { <-s.line }()
	case <-ctx.Done():
		return Step{}, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return Step{}, err
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := s.begin(e.early(), cancel); err != nil {
		return Step{}, err
	}
	defer s.finish()
	a := s.lookAround() // behind begin, so that news of the device are seen here or interrupt
	if reasons := s.against(a, e); reasons != nil {
		return Step{Reasons: reasons, Wake: s.wake(a.now, reasons)}, nil
	}
	if err := s.look(inner, a.now, e); err != nil {
		if errors.Is(context.Cause(inner), percached.ErrPreempted) && ctx.Err() == nil {
			return s.gaveWay(e), nil
		}
		return Step{}, err
	}
	s.mu.Lock()
	c := s.pick(a, e)
	if c.item != nil && inner.Err() == nil {
		s.running = &running{job: c.item.job, since: a.now}
	}
	s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return Step{}, ctx.Err()
	case inner.Err() != nil:
		return s.gaveWay(e), nil
	case c.item == nil:
		return Step{Reasons: c.reasons, Wake: s.lookAgain(c.wake)}, nil
	}
	return s.do(ctx, inner, a, c.item)
}

// begin makes it possible to interrupt a step.
func (s *Scheduler) begin(early bool, interrupt context.CancelCauseFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed("scheduler: begin")
	}
	s.interrupt, s.early = interrupt, early
	return nil
}

// against lists the reasons against a step.
func (s *Scheduler) against(a around, e *errand) []Reason {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.early() {
		return s.asked()
	}
	return s.forbids(a)
}

func (s *Scheduler) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt, s.running = nil, nil
}

// gaveWay is a step that was interrupted before it had chosen a job. The
// request may have ended since.
func (s *Scheduler) gaveWay(e *errand) Step {
	a := s.lookAround()
	s.mu.Lock()
	defer s.mu.Unlock()
	reasons := s.forbids(a)
	if s.asked() == nil && (e.early() || reasons == nil) {
		reasons = append([]Reason{{Code: ReasonForeground, Text: "a request came"}}, reasons...)
	}
	return Step{Reasons: reasons, Wake: s.wake(a.now, reasons)}
}

// lookAgain is when there is something to do at the latest: a space that could
// not be looked through is tried again.
func (s *Scheduler) lookAgain(wake time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.books {
		if b.fault != nil {
			wake = earlier(wake, b.again)
		}
	}
	return wake
}

// do has a job done and books it.
func (s *Scheduler) do(ctx, inner context.Context, a around, it *item) (Step, error) {
	energy, begun := s.joules(), s.o.Now()
	relieve := s.guard(inner, a, it.job.Kind, begun)
	done, err := s.o.Worker.Do(inner, it.job)
	relieve()
	c := cost{done: done, at: s.o.Now()}
	c.took = max(0, c.at.Sub(begun))
	c.joules = s.joules() - energy
	ended := ctx.Err()
	switch {
	case err == nil && !done.Nothing:
		c.end = EndDone
	case err == nil:
		c.end = EndNothing
	case ended != nil, errors.Is(err, percached.ErrPreempted), errors.Is(context.Cause(inner), percached.ErrPreempted):
		c.end = EndPreempted
	case fault.KindOf(err) == fault.NotFound:
		c.end = EndNothing
	default:
		c.end, c.why = EndFailed, why(err)
	}
	j, err := s.settle(a, it, &c)
	st := Step{Job: &j, Done: done, Took: c.took, End: c.end}
	s.o.ended(st)
	if c.end == EndPreempted && err == nil {
		err = ended
	}
	return st, err
}
