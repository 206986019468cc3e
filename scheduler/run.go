package scheduler

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// maxWait limits one wait of Run, because timers stop while a device sleeps and clocks
// may be set.
const maxWait = 5 * time.Minute

// Run does idle work whenever it is allowed and due. It returns nil when ctx ends.
func (s *Scheduler) Run(ctx context.Context) error {
	failures := 0
	for {
		wakeup := s.notified()
		st, err := s.Step(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case fault.KindOf(err) == fault.Unavailable && s.isClosed():
			return fault.Wrap("scheduler.Run", err)
		case err != nil:
			failures++
			st.Wake = s.o.Now().Add(s.config.Load().Retry.after(failures))
			s.o.Logger.Warn("idle work: a step failed", "why", errorCode(err), "again", st.Wake)
		case st.Job != nil:
			failures = 0
			continue
		default:
			failures = 0
		}
		s.waitUntil(ctx, wakeup, st.Wake)
	}
}

// waitUntil returns at a time, at the next event, or when ctx ends.
func (s *Scheduler) waitUntil(ctx context.Context, wakeup <-chan struct{}, until time.Time) {
	d := maxWait
	if !until.IsZero() {
		d = max(time.Millisecond, min(d, until.Sub(s.o.Now())))
	}
	fires, stop := s.timer(d)
	defer stop()
	select {
	case <-fires:
	case <-wakeup:
	case <-ctx.Done():
	}
}

func (s *Scheduler) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Summary counts what a Drain did.
type Summary struct {
	Tally
	Kinds   []KindTally `json:"kinds"`   // in the order in which they ran
	Reasons []Reason    `json:"reasons"` // why it ended
}

// KindTally counts jobs of one kind.
type KindTally struct {
	Kind Kind `json:"kind"`
	Tally
}

// Tally counts finished jobs.
type Tally struct {
	Done      int           `json:"done"`
	Nothing   int           `json:"nothing"`
	Preempted int           `json:"preempted"`
	Failed    int           `json:"failed"` // attempts, including those that parked a job
	Parked    int           `json:"parked"`
	Computed  int           `json:"computed"`  // tokens
	Generated int           `json:"generated"` // tokens
	Written   int64         `json:"written"`   // bytes
	Questions int           `json:"questions"`
	Took      time.Duration `json:"took_ns"` // of compute
}

// Add counts a finished job.
func (sum *Summary) Add(st Step) {
	sum.Tally.add(st)
	at := slices.IndexFunc(sum.Kinds, func(k KindTally) bool { return k.Kind == st.Job.Kind })
	if at < 0 {
		at = len(sum.Kinds)
		sum.Kinds = append(sum.Kinds, KindTally{Kind: st.Job.Kind})
	}
	sum.Kinds[at].add(st)
}

func (t *Tally) add(st Step) {
	switch st.End {
	case EndDone:
		t.Done++
	case EndNothing:
		t.Nothing++
	case EndPreempted:
		t.Preempted++
	case EndParked:
		t.Parked++
		t.Failed++
	case EndFailed:
		t.Failed++
	}
	t.Computed += st.Done.Computed
	t.Generated += st.Done.Generated
	t.Written += st.Done.Written
	t.Questions += st.Done.Questions
	t.Took += st.Took
}

// Drain does all due work now. It ignores the idle delay, windows, budget, device, quiet
// periods and back-off. It yields to user requests and continues after them. It stops if
// idle work is paused. Prediction that does not pay and parked jobs stay excluded, and a
// job that fails is tried once. The request selects and limits the work. After each job
// Drain calls onStep, which may be nil.
func (s *Scheduler) Drain(ctx context.Context, what DrainRequest, onStep func(Step)) (Summary, error) {
	const op = "scheduler.Drain"
	var sum Summary
	e := &drain{DrainRequest: what, begun: s.o.Now(), kinds: map[string]kindSet{}}
	e.addSpaces(s.spaces())
	s.rescanAll(e)
	for {
		wakeup := s.notified()
		st, err := s.step(ctx, e)
		if st.Job != nil {
			sum.Add(st)
			if onStep != nil {
				onStep(st)
			}
		}
		if err != nil {
			return sum, fault.Wrap(op, err)
		}
		if sum.Reasons = e.limitReached(sum.Tally); sum.Reasons != nil {
			return sum, nil
		}
		if st.Job != nil {
			continue
		}
		busy := slices.ContainsFunc(st.Reasons, func(r Reason) bool { return r.Code == ReasonForeground })
		if paused := slices.ContainsFunc(st.Reasons, func(r Reason) bool { return r.Code == ReasonPaused }); paused || !busy {
			sum.Reasons = st.Reasons
			return sum, fault.Wrap(op, s.scanError(e))
		}
		s.waitUntil(ctx, wakeup, time.Time{})
	}
}

// rescanAll marks all spaces for a scan of what the drain selects, and clears the record
// of jobs that found nothing.
func (s *Scheduler) rescanAll(e *drain) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rescan = true
	for _, b := range s.states {
		if wanted := e.kindsFor(b.name); wanted != 0 {
			b.changed |= wanted
			clear(b.foundNothing)
			b.scanAgain = time.Time{}
		}
	}
}

// scanError returns why a scan for this drain failed, if one did.
func (s *Scheduler) scanError(e *drain) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.states {
		if b.failedKinds&e.kindsFor(b.name) != 0 {
			return b.scanErr
		}
	}
	return nil
}

// End is how a job ended.
type End string

// The possible ends.
const (
	EndDone      End = "done"
	EndNothing   End = "nothing"   // nothing was due, or its subject is gone
	EndPreempted End = "preempted" // interrupted; it stays in the queue
	EndFailed    End = "failed"    // it will be retried
	EndParked    End = "parked"    // it failed too often
)

// Step is the result of one step: a job, or the reasons why none ran.
type Step struct {
	Job     *Job          `json:"job,omitempty"` // its state after the step
	Done    Done          `json:"done,omitzero"`
	Took    time.Duration `json:"took_ns"`
	Joules  *float64      `json:"joules,omitempty"` // nil: unknown
	End     End           `json:"end,omitempty"`
	Reasons []Reason      `json:"reasons,omitempty"` // complete
	// Wake is when the reasons may have ended; zero: not before the next event.
	Wake time.Time `json:"wake,omitzero"`
}

// Step runs at most one job, if the rules allow it. It waits only for another caller's
// step.
func (s *Scheduler) Step(ctx context.Context) (Step, error) {
	st, err := s.step(ctx, nil)
	return st, fault.Wrap("scheduler.Step", err)
}

// step runs a job. For a drain only the user's reasons apply.
func (s *Scheduler) step(ctx context.Context, e *drain) (Step, error) {
	select {
	case s.stepLock <- struct{}{}:
		defer func() { <-s.stepLock }()
	case <-ctx.Done():
		return Step{}, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return Step{}, err
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := s.begin(e.ignoresRules(), cancel); err != nil {
		return Step{}, err
	}
	defer s.finish()
	a := s.readConditions() // after begin, so that a device state posted from now on interrupts the step
	if reasons := s.reasonsAgainst(a, e); reasons != nil {
		return Step{Reasons: reasons, Wake: s.wakeTime(a.now, reasons)}, nil
	}
	if err := s.scanDue(inner, a.now, e); err != nil {
		if errors.Is(context.Cause(inner), percached.ErrPreempted) && ctx.Err() == nil {
			return s.preemptedStep(e), nil
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
		return s.preemptedStep(e), nil
	case c.item == nil:
		return Step{Reasons: c.reasons, Wake: s.nextScan(c.wake)}, nil
	}
	return s.runJob(ctx, inner, a, c.item)
}

// begin makes the step interruptible.
func (s *Scheduler) begin(early bool, interrupt context.CancelCauseFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed("scheduler: begin")
	}
	s.interrupt, s.draining = interrupt, early
	return nil
}

// reasonsAgainst lists the reasons against a step.
func (s *Scheduler) reasonsAgainst(a conditions, e *drain) []Reason {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.ignoresRules() {
		return s.userReasons()
	}
	return s.reasonsNow(a)
}

func (s *Scheduler) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt, s.running = nil, nil
}

// preemptedStep is the result of a step that was interrupted before it chose a job. The
// request may have ended meanwhile.
func (s *Scheduler) preemptedStep(e *drain) Step {
	a := s.readConditions()
	s.mu.Lock()
	defer s.mu.Unlock()
	reasons := s.reasonsNow(a)
	if s.userReasons() == nil && (e.ignoresRules() || reasons == nil) {
		reasons = append([]Reason{{Code: ReasonForeground, Text: "a request began"}}, reasons...)
	}
	return Step{Reasons: reasons, Wake: s.wakeTime(a.now, reasons)}
}

// nextScan lowers wake to the next retry of a failed scan.
func (s *Scheduler) nextScan(wake time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.states {
		if b.scanErr != nil {
			wake = earlier(wake, b.scanAgain)
		}
	}
	return wake
}

// runJob runs a job and records its end.
func (s *Scheduler) runJob(ctx, inner context.Context, a conditions, it *queuedJob) (Step, error) {
	measured, begun := s.meter.begin(), s.o.Now()
	stop := s.watchRules(inner, a, it.job.Kind, begun)
	done, err := s.o.Worker.Do(inner, it.job)
	stop()
	c := cost{done: done, at: s.o.Now()}
	c.took = max(0, c.at.Sub(begun))
	c.joules, c.measured = measured()
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
		c.end, c.why = EndFailed, errorCode(err)
	}
	j, err := s.recordEnd(a, it, &c)
	st := Step{Job: &j, Done: done, Took: c.took, End: c.end}
	if c.measured {
		st.Joules = &c.joules
	}
	s.o.ended(st)
	if c.end == EndPreempted && err == nil {
		err = ended
	}
	return st, err
}
