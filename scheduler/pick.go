package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// choice is the job to be done next; without one, why there is none, and when
// there may be.
type choice struct {
	item    *item
	reasons []Reason
	wake    time.Time
}

// pick chooses the best job whose time has come; for an errand, of all that it is
// about and that have not failed since it began. It wants mu.
func (s *Scheduler) pick(a around, e *errand) choice {
	var best *item
	var soonest time.Time
	waiting := 0
	paces := map[*book]Pace{}
	for _, b := range s.books {
		if e.wants(b.name) != 0 {
			paces[b] = s.pace(b, a.now)
		}
	}
	held := map[*book]bool{}
	for _, it := range s.jobs {
		pace := paces[it.book]
		switch {
		case it.job.Parked, !e.wants(it.job.Space).has(it.job.Kind):
			continue
		case it.job.Kind.Predicts() && pace.Speed == PaceStopped:
			continue
		case it.job.Kind.asks() && pace.Speed == PaceSlow && s.usageIn(a.window).asked[it.book.hash][asking(it.job.Kind)] > 0:
			held[it.book] = true
			continue
		}
		_, idle := it.book.idle[it.id]
		from := s.startOf(it.job, a.now)
		if e.early() && (idle || s.failedSince(it.job, e.begun)) || !e.early() && from.After(a.now) {
			waiting++
			soonest = earlier(soonest, from)
			continue
		}
		if best == nil || it.place().compare(best.place()) < 0 {
			best = it
		}
	}
	if best != nil {
		return choice{item: best}
	}
	c := choice{wake: soonest}
	tell := func(r Reason) {
		c.reasons = append(c.reasons, r)
		c.wake = earlier(c.wake, r.Until)
	}
	if waiting > 0 {
		tell(Reason{Code: ReasonNotYet, Text: fmt.Sprintf("jobs that wait for a quiet time, or to be tried again: %d", waiting), Until: soonest})
	}
	for _, b := range slices.SortedFunc(maps.Keys(paces), byName) {
		pace := paces[b]
		if b.sick&e.wants(b.name) != 0 {
			tell(Reason{Code: ReasonNotYet, Text: fmt.Sprintf("space %q could not be looked through: %s", b.name, why(b.fault)), Until: b.again})
		}
		switch {
		case pace.Speed == PaceStopped:
			tell(Reason{Code: ReasonNoPay, Text: fmt.Sprintf("space %q: %s", b.name, pace.Why), Until: pace.Until})
		case held[b]:
			tell(Reason{Code: ReasonNoPay, Text: fmt.Sprintf("space %q: %s, so questions are predicted once a window", b.name, pace.Why), Until: a.again})
		}
	}
	if c.reasons == nil {
		tell(Reason{Code: ReasonNothing, Text: "nothing is due"})
	}
	return c
}

// failedSince says whether a job failed at that time or later.
func (s *Scheduler) failedSince(j Job, t time.Time) bool {
	return j.Attempts > 0 && !j.From.Add(-s.config.Load().Retry.after(j.Attempts)).Before(t)
}

// startOf is when a job may be done. A back-off longer than the longest, or a job
// that is yet to come in, comes from a clock that was set back.
func (s *Scheduler) startOf(j Job, now time.Time) time.Time {
	if latest := now.Add(s.config.Load().Retry.Longest); j.Added.After(now) || j.Attempts > 0 && j.From.After(latest) {
		return now
	}
	return j.From
}

// place is what decides when a job's turn is.
type place struct {
	job    Job
	rank   int
	served uint64
}

// place wants mu.
func (it *item) place() place { return place{it.job, it.rank, it.book.served} }

// compare orders jobs as they are done: by kind, then that of the space that was
// served least recently, then what came first, as the worker named it.
func (p place) compare(other place) int {
	return cmp.Or(
		cmp.Compare(p.job.Kind.rank(), other.job.Kind.rank()),
		cmp.Compare(p.served, other.served),
		p.job.Added.Compare(other.job.Added),
		cmp.Compare(p.rank, other.rank),
		cmp.Compare(p.job.Space, other.job.Space),
		cmp.Compare(p.job.Subject, other.job.Subject),
	)
}

// earlier is the earlier of two times, of which zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func byName(a, b *book) int { return cmp.Compare(a.name, b.name) }
