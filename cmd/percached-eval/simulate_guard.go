package main

import (
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/scheduler"
)

// mostSteps is the maximum number of steps without work in an hour. A device that forbids
// work is read every 30 seconds, and each event adds a step.
const mostSteps = 400

// mostTimes is the maximum number of times that a job is done in a day. New documents can make
// an answer stale several times.
const mostTimes = 50

// guard checks invariants at every moment.
type guard struct {
	budget  scheduler.Budget
	working bool // a step is in progress
	asking  bool // a question is being answered
	// nextAsked is the time of the next question. It interrupts a job that computes then, and
	// gaveWay ends the request that interrupted it.
	nextAsked time.Time
	gaveWay   func()
	fault     error // found where no error could be returned

	day   time.Time
	spent scheduler.Budget // on this day
	hour  time.Time
	steps int            // steps without work in this hour
	done  map[string]int // number of times a job was done on this day
	sums  map[scheduler.Kind]*scheduler.Account
	held  map[string]int // number of checks by invariant
}

// broken is the error of a violated invariant.
func (s *simulator) broken(format string, args ...any) error {
	args = append([]any{s.day(), s.now().Format(time.TimeOnly)}, args...)
	return fault.New(fault.Internal, "percached: simulate", "day %d, %s: "+format, args...)
}

// hold counts a check, and returns an error if it fails.
func (s *simulator) hold(what string, ok bool, format string, args ...any) error {
	if s.guard.held == nil {
		s.guard.held = map[string]int{}
	}
	s.guard.held[what]++
	if ok {
		return nil
	}
	return s.broken("%s: "+format, append([]any{what}, args...)...)
}

// watch observes everything that the device is about to compute. It lets a question interrupt
// a job.
func (s *simulator) watch(st llmtest.Step) {
	g := &s.guard
	if st.Op == llmtest.OpQueue || st.Op == llmtest.OpCapture { // these compute nothing
		return
	}
	background := st.Priority == percached.Background
	switch {
	case g.asking && background:
		g.fault = s.broken("a job computes during a question")
	case !g.working:
	case !background:
		g.fault = s.broken("a job computes with foreground priority")
	case g.gaveWay != nil:
		g.fault = s.broken("a job computes after it was interrupted")
	case !g.nextAsked.IsZero() && !s.now().Before(g.nextAsked):
		g.gaveWay = s.Scheduler.Foreground()
	}
}

// answered ends the request that interrupted a job, if there is one.
func (g *guard) answered() {
	if g.gaveWay != nil {
		g.gaveWay()
		g.gaveWay = nil
	}
}

// stepped checks a step against the budget of its day and the limits of repetition.
func (s *simulator) stepped(st scheduler.Step, began time.Time) error {
	g := &s.guard
	if g.fault != nil {
		return g.fault
	}
	if day := began.Truncate(24 * time.Hour); !day.Equal(g.day) {
		g.day, g.spent, g.done = day, scheduler.Budget{}, map[string]int{}
	}
	if hour := began.Truncate(time.Hour); !hour.Equal(g.hour) {
		g.hour, g.steps = hour, 0
	}
	if st.Job == nil || st.End == scheduler.EndNothing {
		g.steps++
		if err := s.hold("no_turning_in_circles", g.steps <= mostSteps, "%d steps of an hour did nothing, the last was %+v", g.steps, st); err != nil {
			return err
		}
	}
	if st.Job == nil {
		return s.hold("waiting_has_a_reason", len(st.Reasons) > 0, "a step did nothing without a reason")
	}
	within := g.spent.Compute < g.budget.Compute && g.spent.Questions < g.budget.Questions && g.spent.Written < g.budget.Written
	if err := s.hold("budget", within, "the budget of %+v was spent (%+v) when %s began", g.budget, g.spent, st.Job.Kind); err != nil {
		return err
	}
	g.spent.Compute += st.Took
	g.spent.Questions += st.Done.Questions
	g.spent.Written += st.Done.Written
	if g.gaveWay != nil {
		if err := s.hold("gives_way", st.End == scheduler.EndPreempted, "a question arrived, but %s ended as %s", st.Job.Kind, st.End); err != nil {
			return err
		}
	}
	if st.End == scheduler.EndDone {
		g.done[st.Job.ID()]++
	}
	if err := s.hold("no_turning_in_circles", g.done[st.Job.ID()] <= mostTimes, "%s was done %d times in a day", st.Job.Kind, g.done[st.Job.ID()]); err != nil {
		return err
	}
	g.book(st)
	return s.stored()
}

// book keeps accounts to compare with the scheduler's.
func (g *guard) book(st scheduler.Step) {
	if g.sums == nil {
		g.sums = map[scheduler.Kind]*scheduler.Account{}
	}
	a := g.sums[st.Job.Kind]
	if a == nil {
		a = &scheduler.Account{Kind: st.Job.Kind}
		g.sums[st.Job.Kind] = a
	}
	switch st.End {
	case scheduler.EndDone:
		a.Jobs++
	case scheduler.EndPreempted:
		a.Preempted++
	case scheduler.EndFailed, scheduler.EndParked:
		a.Failed++
	}
	a.Seconds += st.Took.Seconds()
	a.Computed, a.Generated, a.Written = a.Computed+st.Done.Computed, a.Generated+st.Done.Generated, a.Written+st.Done.Written
}

// served compares an answer with the cold one, and checks that it is not outdated.
func (s *simulator) served(e persona.Event, a, cold answer.Answer) error {
	if s.guard.fault != nil {
		return s.guard.fault
	}
	old, is := outdated(a, e.Expect)
	if err := s.hold("no_stale_answer", !is, "%q was answered with %q (%s), but %q is said no more", e.Question, a.Text, a.Outcome, old); err != nil {
		return err
	}
	if n := len(a.Gate.Considered); a.Outcome == answer.AnswerHit && !a.Gate.Considered[n-1].Exact {
		return nil // the answer to other words may be worded differently
	}
	return s.hold("warm_is_cold", a.Text == cold.Text, "%q (%s) was answered with %q, without anything stored with %q", e.Question, a.Outcome, a.Text, cold.Text)
}
