package api

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
)

// How long something takes, and what gives way to it, depends on what all spaces do.
// A token of one space is told of that no more than its own clock tells it: the times
// of its own questions as a whole, and those of others in coarse steps.

// scoped says whether a grant is for one space.
func (g Grant) scoped() bool { return g.Space != "" }

// coarse rounds seconds down to a power of two, and what is less than one to zero.
func coarse(seconds float64) float64 {
	if !(seconds >= 1) {
		return 0
	}
	return math.Exp2(math.Floor(math.Log2(seconds)))
}

// listener hears of an answer what a grant may know. The end of a stage tells how
// long the question waited for others.
func (g Grant) listener(l Listener) Listener {
	if g.scoped() {
		l.Stage = nil
	}
	return l
}

func (g Grant) answer(a Answer) Answer {
	if g.scoped() {
		a.Times = maps.Clone(a.Times)
		maps.DeleteFunc(a.Times, func(name string, _ float64) bool { return name != "total_ms" })
	}
	return a
}

func (g Grant) records(r Records) Records {
	if g.scoped() {
		r.Questions = slices.Clone(r.Questions)
		for i := range r.Questions {
			r.Questions[i].TookMS = 1000 * coarse(r.Questions[i].TookMS/1000)
		}
	}
	return r
}

func (g Grant) drained(d Drained) Drained {
	if !g.scoped() {
		return d
	}
	work := func(w *Work) { w.Preempted, w.Seconds = 0, coarse(w.Seconds) }
	work(&d.Work)
	d.Kinds = slices.Clone(d.Kinds)
	for i := range d.Kinds {
		work(&d.Kinds[i].Work)
	}
	d.Reasons = slices.DeleteFunc(slices.Clone(d.Reasons), func(r Reason) bool { return r.Code == "foreground" || r.Code == "recent_request" })
	return d
}

// event is an event of a space that a grant sees, as that is told of it; false: it is
// not.
func (g Grant) event(e Event) (Event, bool) {
	switch {
	case !g.scoped():
		return e, true
	case e.Type == EventEvicted, e.Type == EventJob && fmt.Sprint(e.Data["end"]) == "preempted":
		return e, false
	}
	e.Data = maps.Clone(e.Data)
	if ms, ok := e.Data["ms"].(float64); ok {
		e.Data["ms"] = 1000 * coarse(ms/1000)
	}
	if s, ok := e.Data["seconds"].(float64); ok {
		e.Data["seconds"] = coarse(s)
	}
	return e, true
}

func (s *Server) history(ctx context.Context, in Recent) (Records, error) {
	r, err := s.backend.History(ctx, in)
	return grantOf(ctx).records(r), err
}

func (s *Server) predict(ctx context.Context, in InSpace) (Drained, error) {
	d, err := s.backend.Predict(ctx, in)
	return grantOf(ctx).drained(d), err
}
