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

// span is an open window, with its own budget, or the time between two.
type span struct {
	// All times are in the configured time zone.
	Open       bool
	Start, End time.Time // of the open window
	Next       time.Time // start of the next window; zero: none within years
}

// windows computes when idle work is allowed. One goroutine at a time calls its methods.
//
// Windows that overlap or touch form one window with one budget, up to 24 hours. A longer
// one is cut at the first activation of each day, so that a window that never closes
// (every hour for an hour) gets a daily budget. So the start of a window depends on the
// expressions alone, not on when it is computed.
type windows struct {
	rhythms []rhythm
	zone    *time.Location // of calendar days
	longest time.Duration

	// last is the latest result of at, valid between from and to.
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

// at returns the open window, or when the next one opens. Without windows each day is
// one.
func (w *windows) at(now time.Time) span {
	now = now.Round(0) // use the wall clock; the monotonic clock stops during sleep
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

// find computes the span around now, and the times between which it is valid.
func (w *windows) find(now time.Time) (s span, from, to time.Time) {
	// A window that covers now began at most the longest length ago, the activation that
	// cuts it up to a day earlier, and one that joins that a length before.
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
			from = end // closed since then, unless a later opening covers now
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

// cut returns the part around now of the joined openings i to j, which end at end.
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

// next is the first activation at or after t; zero if there is none within years.
func (w *windows) next(t time.Time) time.Time {
	var soonest time.Time
	for _, r := range w.rhythms {
		if at := r.next(t); !at.IsZero() && (soonest.IsZero() || at.Before(soonest)) {
			soonest = at.In(w.zone)
		}
	}
	return soonest
}

// rhythm is a parsed window expression. The cron library works on a clock without time
// zone, and this type maps it to real time. An activation in a skipped hour happens when
// the clocks jump. One in a repeated hour happens the first time, or both times if the
// expression matches every hour.
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
		return fail("invalid length %v: use more than 0 and at most %v", w.Length, MaxLength)
	}
	text := strings.TrimSpace(w.Cron)
	// The library panics on a time zone alone, and reads an empty name as UTC.
	prefix, rest, _ := strings.Cut(text, " ")
	_, name, zoned := strings.Cut(prefix, "TZ=")
	if zoned && (name == "" || strings.TrimSpace(rest) == "") {
		return fail("incomplete time zone: write CRON_TZ=NAME, a space and an expression")
	}
	schedule, err := cron.ParseStandard(text)
	if err != nil {
		return fail("%w", err)
	}
	clock, ok := schedule.(*cron.SpecSchedule)
	if !ok { // @every
		return fail("@every has no fixed time; use a cron expression")
	}
	if zoned {
		zone = clock.Location
	}
	const hours = 1<<24 - 1
	r := rhythm{clock: clock, zone: zone, length: w.Length, hourly: clock.Hour&hours == hours}
	r.clock.Location = time.UTC
	// The next five years contain a 29th of February.
	if clock.Minute == 0 || clock.Hour == 0 || clock.Next(wall(2001, time.January, 1)).IsZero() {
		return fail("it never opens")
	}
	return r, nil
}

const (
	// slack exceeds any clock change in history.
	slack = 26 * time.Hour
	// rest skips a started minute: activations are at full minutes, and the library would
	// step by seconds.
	rest = 59 * time.Second
)

// between lists the activations between two times, unordered.
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

// next is the first activation at or after t; zero if there is none within years.
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

// wall is midnight on the wall clock, as a time in UTC.
func wall(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// onWall is what a wall clock in zone shows at t, as a time in UTC.
func onWall(t time.Time, zone *time.Location) time.Time {
	_, offset := t.In(zone).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// first is when a wall clock first shows w.
func first(w time.Time, zone *time.Location) time.Time { return instants(w, zone)[0] }

// instants lists when a wall clock shows w: once, or more often if the clock was set
// back. If w was skipped, the result is the time of the jump.
func instants(w time.Time, zone *time.Location) []time.Time {
	t := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), w.Nanosecond(), zone)
	start, end := t.ZoneBounds()
	if (start.IsZero() || t.Sub(start) > slack) && (end.IsZero() || end.Sub(t) > slack) {
		return []time.Time{t} // no clock change nearby
	}
	var all []time.Time
	for _, at := range []time.Time{start.Add(-1), t, end} { // with the offsets before, at and after t
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
