package scheduler

import (
	"fmt"
	"time"

	"github.com/percached/percached/internal/base/kv"
)

// Speed says how eagerly questions are predicted in a space.
type Speed string

// The speeds.
const (
	PaceFull    Speed = "full"
	PaceSlow    Speed = "slow"    // once a window from knowledge, once from history
	PaceStopped Speed = "stopped" // kinds of job that predict are neither looked for nor done
)

// Pace is how prediction fares in a space, within the horizon.
type Pace struct {
	Speed  Speed   `json:"speed"`
	Why    string  `json:"why"`
	Spent  float64 `json:"spent"`  // seconds of compute
	Earned float64 `json:"earned"` // seconds that nobody waited
	// Until is when a stopped pace changes by itself, if nothing is earned before.
	Until time.Time `json:"until,omitzero"`
}

// paceOf holds what prediction spent against what it earned. It stops by itself
// and begins again by itself: what is beyond the horizon counts no more. The
// horizon is that of the day when something was spent last, until that day is
// beyond it, too: else what has stopped would begin again for a moment whenever
// one of the days before leaves it.
func paceOf(pages map[date]*page, p Pay, now time.Time, zone *time.Location) Pace {
	horizon := dateOf(now.Add(-p.Horizon), zone)
	oldest := horizon
	if last := lastSpent(pages); last >= oldest {
		oldest = min(oldest, oldest-(dateOf(now, zone)-last))
	}
	var spent, earned int64
	begun := date(-1) // when the first of it was spent
	for d, page := range pages {
		if d < oldest {
			continue
		}
		for i, a := range page {
			if !kinds[i].Predicts() {
				continue
			}
			spent += a.spent
			earned += a.earned
			if a.spent > 0 && (begun < 0 || d < begun) {
				begun = d
			}
		}
	}
	pace := Pace{Spent: time.Duration(spent).Seconds(), Earned: time.Duration(earned).Seconds()}
	worth := p.Worth * pace.Earned
	text := fmt.Sprintf("in %s prediction cost %.0f s of compute and saved %.1f s of waiting, worth %.0f s", span2text(p.Horizon), pace.Spent, pace.Earned, worth)
	switch {
	case spent < int64(p.Trial):
		pace.Speed, pace.Why = PaceFull, text+": it is being tried"
	case worth >= pace.Spent:
		pace.Speed, pace.Why = PaceFull, text+": it pays"
	case begun > horizon:
		pace.Speed, pace.Why = PaceSlow, text+": it does not pay yet"
	default:
		pace.Speed, pace.Why = PaceStopped, text+": it does not pay"
	}
	return pace
}

// lastSpent is the last day on which prediction cost something.
func lastSpent(pages map[date]*page) date {
	last := date(-1)
	for d, page := range pages {
		for i, a := range page {
			if kinds[i].Predicts() && a.spent > 0 {
				last = max(last, d)
			}
		}
	}
	return last
}

// span2text writes whole days as days.
func span2text(d time.Duration) string {
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%d days", d/day)
	}
	return d.String()
}

// pace is a space's, now. It wants mu.
func (s *Scheduler) pace(b *book, now time.Time) Pace {
	c := s.config.Load()
	pace := paceOf(b.pages, c.Pay, now, c.Zone)
	if pace.Speed != PaceStopped {
		return pace
	}
	// Costs leave the horizon a day at a time.
	today := dateOf(now, c.Zone)
	last := today + date(c.Pay.Horizon/day) + 2
	for d := today + 1; d <= last; d++ {
		at := d.begins(c.Zone)
		if d == last || paceOf(b.pages, c.Pay, at, c.Zone).Speed != PaceStopped {
			pace.Until = at
			break
		}
	}
	return pace
}

// Pace says how eagerly questions are predicted in a space.
func (s *Scheduler) Pace(space string) Pace {
	now, hash := s.o.Now(), kv.NewSpaceID(space)
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[hash]
	if b == nil {
		b = newBook(space)
	}
	return s.pace(b, now)
}
