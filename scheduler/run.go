package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// longestWait bounds how long Run waits: timers stand still while a device
// sleeps, and its clock may be set.
const longestWait = 5 * time.Minute

// Run does idle work, whenever it is allowed and due, until ctx ends. That is
// no error.
func (s *Scheduler) Run(ctx context.Context) error {
	failures := 0
	for {
		bell := s.listen()
		st, err := s.Step(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case fault.KindOf(err) == fault.Unavailable && s.isClosed():
			return fault.Wrap("scheduler.Run", err)
		case err != nil:
			failures++
			st.Wake = s.o.Now().Add(s.config.Load().Retry.after(failures))
			s.o.Logger.Warn("idle work: a step failed", "why", why(err), "again", st.Wake)
		case st.Job != nil:
			failures = 0
			continue
		default:
			failures = 0
		}
		s.wait(ctx, bell, st.Wake)
	}
}

// wait returns at a time, or when the bell rings, or when ctx ends.
func (s *Scheduler) wait(ctx context.Context, bell <-chan struct{}, until time.Time) {
	d := longestWait
	if !until.IsZero() {
		d = max(time.Millisecond, min(d, until.Sub(s.o.Now())))
	}
	fires, stop := s.timer(d)
	defer stop()
	select {
	case <-fires:
	case <-bell:
	case <-ctx.Done():
	}
}

func (s *Scheduler) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Summary counts what Drain did.
type Summary struct {
	Tally
	Kinds   []KindTally `json:"kinds"`   // in the order in which they came
	Reasons []Reason    `json:"reasons"` // why it ended
}

// KindTally counts jobs of one kind.
type KindTally struct {
	Kind Kind `json:"kind"`
	Tally
}

// Tally counts jobs that ended.
type Tally struct {
	Done      int           `json:"done"`
	Nothing   int           `json:"nothing"`
	Preempted int           `json:"preempted"`
	Failed    int           `json:"failed"` // attempts, those that parked a job too
	Parked    int           `json:"parked"`
	Computed  int           `json:"computed"`  // tokens
	Generated int           `json:"generated"` // tokens
	Written   int64         `json:"written"`   // bytes
	Questions int           `json:"questions"`
	Took      time.Duration `json:"took_ns"` // of compute
}

// Add counts a job that ended.
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

// Drain works until nothing is due, at once: it asks neither when the last
// request was, nor for windows, budget, device, quiet times or back-off. It does
// give way to requests, and goes on behind them; it stops where somebody paused
// idle work; prediction that does not pay stays away; parked jobs stay parked, and
// one that fails is tried once. The errand says which work is meant, and how much
// of it. Tell, which may be nil, is told each job.
func (s *Scheduler) Drain(ctx context.Context, what Errand, tell func(Step)) (Summary, error) {
	const op = "scheduler.Drain"
	var sum Summary
	e := &errand{Errand: what, begun: s.o.Now(), kinds: map[string]kindSet{}}
	e.learn(s.spaces())
	s.lookAnew(e)
	for {
		bell := s.listen()
		st, err := s.step(ctx, e)
		if st.Job != nil {
			sum.Add(st)
			if tell != nil {
				tell(st)
			}
		}
		if err != nil {
			return sum, fault.Wrap(op, err)
		}
		if sum.Reasons = e.reached(sum.Tally); sum.Reasons != nil {
			return sum, nil
		}
		if st.Job != nil {
			continue
		}
		busy := slices.ContainsFunc(st.Reasons, func(r Reason) bool { return r.Code == ReasonForeground })
		if paused := slices.ContainsFunc(st.Reasons, func(r Reason) bool { return r.Code == ReasonPaused }); paused || !busy {
			sum.Reasons = st.Reasons
			return sum, fault.Wrap(op, s.lookFault(e))
		}
		s.wait(ctx, bell, time.Time{})
	}
}

// lookAnew forgets what was known to be idle, and has all spaces looked through
// for what an errand is about.
func (s *Scheduler) lookAnew(e *errand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = true
	for _, b := range s.books {
		if wanted := e.wants(b.name); wanted != 0 {
			b.changed |= wanted
			clear(b.idle)
			b.again = time.Time{}
		}
	}
}

// lookFault is why a space could not be looked through for what an errand is
// about, if one could not.
func (s *Scheduler) lookFault(e *errand) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.books {
		if b.sick&e.wants(b.name) != 0 {
			return b.fault
		}
	}
	return nil
}
