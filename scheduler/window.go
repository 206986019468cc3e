package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

const day = 24 * time.Hour

// span is one window as the clock sees it, with a budget of its own, or the
// time between two.
type span struct {
	// All times are in the time zone of days.
	Open       bool
	Start, End time.Time // of the window, if open
	Next       time.Time // when the next one starts; zero: not in the next years
}

// windows tells when idle work may be done. Its methods are called by one
// goroutine at a time.
//
// Windows that overlap or touch are one window with one budget, as long as that
// lasts no more than 24 hours. Longer ones are cut where the first activation
// of each day is, so that one which never closes (every hour for an hour) gets
// a budget a day. So where a window starts depends on the expressions alone,
// never on when somebody looked.
type windows struct {
	rhythms []rhythm
	zone    *time.Location // of days
	longest time.Duration

	// What at found last holds from from to to.
	last     span
	from, to time.Time
}

func newWindows(ws []Window, zone *time.Location) (*windows, error) {
	w := &windows{zone: zone}
	for _, one := range ws {
		r, err := one.rhythm(zone)
		if err != nil {
			return nil, err
		}
		w.rhythms = append(w.rhythms, r)
		w.longest = max(w.longest, one.Length)
	}
	return w, nil
}

// at gives the window that is open now, or when one will be. Without windows,
// each day is one.
func (w *windows) at(now time.Time) span {
	now = now.Round(0) // the clock on the wall counts, not the one that stops in sleep
	if !w.to.IsZero() && !now.Before(w.from) && now.Before(w.to) {
		return w.last
	}
	if len(w.rhythms) == 0 {
		y, m, d := now.In(w.zone).Date()
		start, end := first(wall(y, m, d), w.zone), first(wall(y, m, d+1), w.zone)
		w.last, w.from, w.to = span{Open: true, Start: start, End: end, Next: end}, start, end
		return w.last
	}
	w.last, w.from, w.to = w.find(now)
	return w.last
}

// opening is one activation of a window.
type opening struct{ start, end time.Time }

// find makes the span around now, and says from when to when it holds.
func (w *windows) find(now time.Time) (s span, from, to time.Time) {
	// What covers now began at most the longest length ago; the activation that
	// cuts it up to a day earlier; and what that one joins, a length before.
	reach := w.longest + 2*day
	open := w.openings(now.Add(-reach-w.longest), now.Add(reach))
	from = now
	for i := 0; i < len(open); {
		j, end := i, open[i].end
		for j++; j < len(open) && !open[j].start.After(end); j++ {
			end = later(end, open[j].end)
		}
		start := open[i].start
		switch {
		case !end.After(now):
			from = end // closed since then, if none of the others holds now
		case !start.After(now):
			if end.Sub(start) > day {
				start, end = w.cut(open, i, j, end, now)
			}
			return span{Open: true, Start: start, End: end, Next: w.next(end)}, start, end
		}
		i = j
	}
	if to = w.next(now); to.IsZero() {
		return span{}, from, now.Add(day)
	}
	return span{Next: to}, from, to
}

// cut gives the part around now of the openings from i to j, which join and end at end.
func (w *windows) cut(open []opening, i, j int, end, now time.Time) (from, to time.Time) {
	from = open[i].start
	for k := i + 1; k < j; k++ {
		at := open[k].start
		if sameDay(open[k-1].start, at, w.zone) {
			continue
		}
		if at.After(now) {
			return from, at
		}
		from = at
	}
	return from, end
}

// openings lists the activations between two times, in order.
func (w *windows) openings(from, to time.Time) []opening {
	var all []opening
	for _, r := range w.rhythms {
		for _, at := range r.between(from, to) {
			all = append(all, opening{at.In(w.zone), at.In(w.zone).Add(r.length)})
		}
	}
	slices.SortFunc(all, func(a, b opening) int {
		return cmp.Or(a.start.Compare(b.start), a.end.Compare(b.end))
	})
	return all
}

// next is the first activation that is not before t; zero if there is none in years.
func (w *windows) next(t time.Time) time.Time {
	var soonest time.Time
	for _, r := range w.rhythms {
		if at := r.next(t); !at.IsZero() && (soonest.IsZero() || at.Before(soonest)) {
			soonest = at.In(w.zone)
		}
	}
	return soonest
}

// rhythm is a window's expression, read. The library counts on a clock without
// time zone; when that is, we say ourselves: an activation in an hour that the
// clocks leave out comes when they jump, one in an hour that they repeat comes
// in the first, or in both if the expression asks for every hour.
type rhythm struct {
	clock  *cron.SpecSchedule // in UTC
	zone   *time.Location
	length time.Duration
	hourly bool
}

func (w Window) rhythm(zone *time.Location) (rhythm, error) {
	fail := func(format string, args ...any) (rhythm, error) {
		return rhythm{}, fmt.Errorf("window %q: "+format, append([]any{w.Cron}, args...)...)
	}
	if w.Length <= 0 || w.Length > MaxLength {
		return fail("it is open for %v, which is not between 0 and %v", w.Length, MaxLength)
	}
	text := strings.TrimSpace(w.Cron)
	// The library panics where a zone stands alone, and takes one without a name for UTC.
	prefix, rest, _ := strings.Cut(text, " ")
	_, name, zoned := strings.Cut(prefix, "TZ=")
	if zoned && (name == "" || strings.TrimSpace(rest) == "") {
		return fail("a time zone's name, a space and an expression are needed")
	}
	schedule, err := cron.ParseStandard(text)
	if err != nil {
		return fail("%w", err)
	}
	clock, ok := schedule.(*cron.SpecSchedule)
	if !ok { // @every
		return fail("it counts from when it is read, and so never opens at a certain time")
	}
	if zoned {
		zone = clock.Location
	}
	const hours = 1<<24 - 1
	r := rhythm{clock: clock, zone: zone, length: w.Length, hourly: clock.Hour&hours == hours}
	r.clock.Location = time.UTC
	// Five years on from here there was a 29th of February.
	if clock.Minute == 0 || clock.Hour == 0 || clock.Next(wall(2001, time.January, 1)).IsZero() {
		return fail("it never opens")
	}
	return r, nil
}

const (
	// slack is more than clocks were ever moved at once.
	slack = 26 * time.Hour
	// rest of a minute that began: activations are at full minutes, and the
	// library would walk there second by second.
	rest = 59 * time.Second
)

// between lists the activations from one time to another, in no order.
func (r rhythm) between(from, to time.Time) []time.Time {
	var all []time.Time
	last := onWall(to, r.zone).Add(slack)
	for w := r.clock.Next(onWall(from, r.zone).Add(-slack)); !w.IsZero() && !w.After(last); w = r.clock.Next(w.Add(rest)) {
		for i, at := range instants(w, r.zone) {
			if (i == 0 || r.hourly) && !at.Before(from) && !at.After(to) {
				all = append(all, at)
			}
		}
	}
	return all
}

// next is the first activation that is not before t; zero if there is none in years.
func (r rhythm) next(t time.Time) time.Time {
	var soonest, last time.Time
	for w := r.clock.Next(onWall(t, r.zone).Add(-slack)); !w.IsZero() && (last.IsZero() || !w.After(last)); w = r.clock.Next(w.Add(rest)) {
		for i, at := range instants(w, r.zone) {
			if (i == 0 || r.hourly) && !at.Before(t) && (soonest.IsZero() || at.Before(soonest)) {
				soonest, last = at, w.Add(slack)
			}
		}
	}
	return soonest
}

// wall is midnight on a wall's clock, as a time in UTC.
func wall(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// onWall is what the clock on a wall of zone shows at t, as a time in UTC.
func onWall(t time.Time, zone *time.Location) time.Time {
	_, offset := t.In(zone).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// first is when a wall's clock first shows w.
func first(w time.Time, zone *time.Location) time.Time { return instants(w, zone)[0] }

// instants lists when a wall's clock shows w: once, or more often if it was put
// back. If it was put forward over w, that is when.
func instants(w time.Time, zone *time.Location) []time.Time {
	t := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), w.Nanosecond(), zone)
	start, end := t.ZoneBounds()
	if (start.IsZero() || t.Sub(start) > slack) && (end.IsZero() || end.Sub(t) > slack) {
		return []time.Time{t} // nobody touched the clock around then
	}
	var all []time.Time
	for _, at := range []time.Time{start.Add(-1), t, end} { // with an offset of before, now, behind
		_, offset := at.In(zone).Zone()
		t := w.Add(-time.Duration(offset) * time.Second).In(zone)
		if onWall(t, zone).Equal(w) && !slices.ContainsFunc(all, t.Equal) {
			all = append(all, t)
		}
	}
	switch {
	case len(all) > 0:
		slices.SortFunc(all, time.Time.Compare)
		return all
	case onWall(t, zone).After(w):
		return []time.Time{start}
	}
	return []time.Time{end}
}

func sameDay(a, b time.Time, zone *time.Location) bool {
	ay, am, ad := a.In(zone).Date()
	by, bm, bd := b.In(zone).Date()
	return ay == by && am == bm && ad == bd
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
