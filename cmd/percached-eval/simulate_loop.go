package main

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/scheduler"
)

// look is a periodic check of the simulation.
type look string

const (
	atDawn     look = "dawn"     // the night ends
	atMidnight look = "midnight" // a day ends
)

// calendar adds the periodic checks to the events.
func calendar(happens []persona.Event, start time.Time, days int) []event {
	events := make([]event, 0, len(happens)+2*days)
	for _, e := range happens {
		events = append(events, event{Event: e})
	}
	for d := range days {
		events = append(events,
			event{persona.Event{At: start.AddDate(0, 0, d).Add(6 * time.Hour)}, atDawn},
			event{persona.Event{At: start.AddDate(0, 0, d+1)}, atMidnight})
	}
	slices.SortStableFunc(events, func(a, b event) int { return a.At.Compare(b.At) })
	return events
}

// live runs all events, and idle work between them.
func (s *simulator) live(ctx context.Context) error {
	for i, e := range s.events {
		s.guard.nextAsked = s.asked(i)
		if err := s.work(ctx, e.At); err != nil {
			return err
		}
		if err := s.happen(ctx, e); err != nil {
			return s.broken("%s: %w", cmp.Or(string(e.Kind), string(e.look)), err)
		}
		if err := s.checked(e); err != nil {
			return err
		}
	}
	return nil
}

// asked is the time of the next question, from an event on.
func (s *simulator) asked(from int) time.Time {
	for _, e := range s.events[from:] {
		if e.Kind == persona.Asked {
			return e.At
		}
	}
	return time.Time{}
}

// work runs idle work until the next event.
func (s *simulator) work(ctx context.Context, until time.Time) error {
	for s.now().Before(until) {
		began := s.now()
		s.guard.working = true
		st, err := s.Scheduler.Step(ctx)
		s.guard.working = false
		if err != nil {
			return s.broken("a step failed: %w", err)
		}
		if err := s.stepped(st, began); err != nil {
			return err
		}
		s.count.pace(s.now(), s.day(), s.Scheduler.Pace(simulated))
		if st.Job != nil {
			s.count.step(st)
			s.count.passed(s.now().Sub(began))
			continue
		}
		wake := until
		if !st.Wake.IsZero() && st.Wake.Before(until) {
			wake = st.Wake
		}
		s.count.wait(st.Reasons, wake.Sub(s.now()))
		s.count.passed(wake.Sub(s.now()))
		s.sleep(wake)
	}
	return nil
}

// happen runs an event or a periodic check.
func (s *simulator) happen(ctx context.Context, e event) error {
	switch {
	case e.look == atMidnight:
		return s.midnight()
	case e.look == atDawn:
		return s.dawn()
	}
	switch e.Kind {
	case persona.Arrives:
		return s.arrive(ctx, e.Event)
	case persona.Deleted:
		return s.remove(ctx, e.Event)
	case persona.Asked:
		return s.question(ctx, e.Event)
	case persona.Posted:
		d := e.Device
		return s.Scheduler.Post(scheduler.Device{Charging: &d.Charging, Battery: &d.Battery, Temperature: &d.Temperature, At: e.At})
	case persona.Limited:
		if err := s.Tree.SetLimit(e.Limit); err != nil {
			return err
		}
	case persona.Tuned:
		sp, err := s.Knowledge.Space(simulated)
		if err != nil {
			return err
		}
		sp.Settings.Threshold = &e.Threshold
		if err := s.Knowledge.Configure(simulated, sp.Settings); err != nil {
			return err
		}
	}
	s.Scheduler.Changed(simulated)
	return nil
}

func (s *simulator) arrive(ctx context.Context, e persona.Event) error {
	r, err := s.Library.Add(ctx, simulated, func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
		return emit(e.Source)
	}, nil)
	if err != nil {
		return err
	}
	if r.Added+r.Replaced != 1 {
		return fault.New(fault.Internal, "percached: simulate", "%d documents were added and %d replaced, not one", r.Added, r.Replaced)
	}
	s.count.documents(r.Added, r.Replaced, 0)
	d, err := s.Knowledge.Document(simulated, percached.NewDocumentID(e.Key))
	if err != nil {
		return err
	}
	s.mirror.put(d.ID, d.Chunks)
	return nil
}

func (s *simulator) remove(ctx context.Context, e persona.Event) error {
	id := percached.NewDocumentID(e.Key)
	r, err := s.Library.Delete(ctx, simulated, id)
	if err != nil {
		return err
	}
	s.count.documents(0, 0, r.Documents)
	s.mirror.remove(id)
	return nil
}
