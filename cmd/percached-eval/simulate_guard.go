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

// mostSteps is how many steps that do nothing there may be in an hour: where a
// device forbids work, it is asked every half a minute, and each event is one more.
const mostSteps = 400

// mostTimes is how often the same job may be done on a day: documents that come
// can make the same answers stale again.
const mostTimes = 50

// guard holds what happens against what must be so at every moment.
type guard struct {
	budget  scheduler.Budget
	working bool // a step is under way
	asking  bool // a question is being answered
	// nextAsked is when the next question falls due: a job that computes by then is
	// interrupted, and gaveWay ends the request that interrupted it.
	nextAsked time.Time
	gaveWay   func()
	fault     error // seen where nobody could be told

	day   time.Time
	spent scheduler.Budget // on that day
	hour  time.Time
	steps int            // that did nothing in that hour
	done  map[string]int // how often a job was done on that day
	sums  map[scheduler.Kind]*scheduler.Account
	held  map[string]int // how often what was held
}

// broken says that something that must hold does not.
func (s *simulator) broken(format string, args ...any) error {
	args = append([]any{s.day(), s.now().Format(time.TimeOnly)}, args...)
	return fault.New(fault.Internal, "percached: simulate", "day %d, %s: "+format, args...)
}

// hold counts that something was looked at, and says if it does not hold.
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

// watch is told of all that the device is about to compute. It is where a person
// comes to ask amidst a job.
func (s *simulator) watch(st llmtest.Step) {
	g := &s.guard
	if st.Op == llmtest.OpQueue || st.Op == llmtest.OpCapture { // a place in line, and what was computed already
		return
	}
	background := st.Priority == percached.Background
	switch {
	case g.asking && background:
		g.fault = s.broken("a job computes while a question is answered")
	case !g.working:
	case !background:
		g.fault = s.broken("a job computes as if somebody waited for it")
	case g.gaveWay != nil:
		g.fault = s.broken("a job computes on after it was interrupted")
	case !g.nextAsked.IsZero() && !s.now().Before(g.nextAsked):
		g.gaveWay = s.Scheduler.Foreground()
	}
}

// answered ends the request that interrupted a job, if one did.
func (g *guard) answered() {
	if g.gaveWay != nil {
		g.gaveWay()
		g.gaveWay = nil
	}
}

// stepped holds a step against the budget of its day, and against turning in
// circles.
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
		return s.hold("waiting_has_a_reason", len(st.Reasons) > 0, "a step did nothing and did not say why")
	}
	within := g.spent.Compute < g.budget.Compute && g.spent.Questions < g.budget.Questions && g.spent.Written < g.budget.Written
	if err := s.hold("budget", within, "of %+v %+v was spent when %s began", g.budget, g.spent, st.Job.Kind); err != nil {
		return err
	}
	g.spent.Compute += st.Took
	g.spent.Questions += st.Done.Questions
	g.spent.Written += st.Done.Written
	if g.gaveWay != nil {
		if err := s.hold("gives_way", st.End == scheduler.EndPreempted, "a question came, and %s ended as %s", st.Job.Kind, st.End); err != nil {
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

// book keeps accounts besides the scheduler's.
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

// served holds an answer against a cold one, and against what no document says
// any more.
func (s *simulator) served(e persona.Event, a, cold answer.Answer) error {
	if s.guard.fault != nil {
		return s.guard.fault
	}
	old, is := outdated(a, e.Expect)
	if err := s.hold("no_stale_answer", !is, "%q was answered with %q (%s), but %q is said no more", e.Question, a.Text, a.Outcome, old); err != nil {
		return err
	}
	if n := len(a.Gate.Considered); a.Outcome == answer.AnswerHit && !a.Gate.Considered[n-1].Exact {
		return nil // an answer to other words need not be the same to the letter
	}
	return s.hold("warm_is_cold", a.Text == cold.Text, "%q (%s) was answered with %q, without anything stored with %q", e.Question, a.Outcome, a.Text, cold.Text)
}
