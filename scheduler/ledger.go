package scheduler

import (
	"fmt"
	"maps"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// keepDays is how many days the ledger keeps, unless the horizon is longer.
const keepDays = 400

// date counts days since 1970 in the configured time zone.
type date int32

func dateOf(t time.Time, zone *time.Location) date {
	y, m, d := t.In(zone).Date()
	return date(max(0, wall(y, m, d).Unix()/int64(day/time.Second)))
}

// begins is the day's midnight.
func (d date) begins(zone *time.Location) time.Time {
	return first(time.Unix(int64(d)*int64(day/time.Second), 0).UTC(), zone)
}

// account is what one kind cost and earned on one day. No number is negative.
type account struct {
	jobs, failed, preempted      int64
	spent                        int64 // ns
	computed, generated, written int64
	earned                       int64 // ns
	uses                         int64
	joules                       float64
	measured                     int64 // ns of spent for which the joules are known
}

// numbers lists the integers in the order in which they are stored.
func (a *account) numbers() []*int64 {
	return []*int64{
		&a.jobs, &a.failed, &a.preempted, &a.spent, &a.computed, &a.generated, &a.written, &a.earned, &a.uses,
	}
}

func (a *account) add(b account) {
	other := b.numbers()
	for i, x := range a.numbers() {
		*x += *other[i]
	}
	a.joules += b.joules
	a.measured += b.measured
}

// ledgerDay is one day of a space's ledger: an account for each kind, by rank.
type ledgerDay [len(kinds)]account

// Account is what jobs of one kind cost and earned.
type Account struct {
	Kind      Kind    `json:"kind"`
	Jobs      int     `json:"jobs"`      // finished jobs
	Failed    int     `json:"failed"`    // failed attempts
	Preempted int     `json:"preempted"` // attempts that a request interrupted
	Seconds   float64 `json:"seconds"`   // of compute, including failed and interrupted attempts
	Computed  int     `json:"computed"`  // tokens
	Generated int     `json:"generated"` // tokens
	Written   int64   `json:"written"`   // bytes
	Joules    float64 `json:"joules"`    // see Energy; those of Measured seconds
	Measured  float64 `json:"measured"`  // seconds of compute whose energy is known
	Earned    float64 `json:"earned"`    // seconds of waiting saved by what the jobs made
	Uses      int     `json:"uses"`
}

// account returns the account of a kind and day for writing, and creates it if necessary.
// The caller holds mu.
func (s *Scheduler) account(b *spaceState, k Kind, d date) *account {
	p := b.days[d]
	if p == nil {
		p = &ledgerDay{}
		b.days[d] = p
		keep := max(keepDays, date(s.config.Load().Pay.Horizon/day)+1)
		for old := range b.days {
			if old < d-keep {
				delete(b.days, old)
				s.markDirty(pageKey(b.hash, old), func([]byte) []byte { return nil })
			}
		}
	}
	s.markDirty(pageKey(b.hash, d), func(key []byte) []byte { return encodePage(key, p) })
	return &p[k.rank()]
}

// Ledger returns what each kind of job cost and earned since that day, in one space, or
// in all if the name is empty. It leaves out kinds without entries.
func (s *Scheduler) Ledger(space string, since time.Time) ([]Account, error) {
	from := dateOf(since, s.config.Load().Zone)
	var sum ledgerDay
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed("scheduler.Ledger")
	}
	for _, b := range s.states {
		if space != "" && b.name != space {
			continue
		}
		for d, p := range b.days {
			if d < from {
				continue
			}
			for i := range p {
				sum[i].add(p[i])
			}
		}
	}
	s.mu.Unlock()
	var all []Account
	for i, a := range sum {
		if a != (account{}) {
			all = append(all, a.export(kinds[i]))
		}
	}
	return all, nil
}

func (a account) export(k Kind) Account {
	return Account{
		Kind: k, Jobs: int(a.jobs), Failed: int(a.failed), Preempted: int(a.preempted),
		Seconds:  time.Duration(a.spent).Seconds(),
		Computed: int(a.computed), Generated: int(a.generated), Written: a.written,
		Joules: a.joules, Measured: time.Duration(a.measured).Seconds(),
		Earned: time.Duration(a.earned).Seconds(), Uses: int(a.uses),
	}
}

// credit is what a job's result saves at each use, and the kind that earns it.
type credit struct {
	kind  Kind
	saves time.Duration
}

// addCredits records what a job made. The caller holds mu.
func (s *Scheduler) addCredits(b *spaceState, k Kind, credits []Credit) {
	for _, c := range credits[:min(len(credits), maxCredit)] {
		id := c.ID
		b.credits[id] = &credit{kind: k, saves: max(0, c.Saves)}
		key := recordKey(creditByte, b.hash, id[:]...)
		delete(s.revoked, string(key))
		s.markDirty(key, func(key []byte) []byte {
			if c := b.credits[id]; c != nil {
				return encodeCredit(key, c)
			}
			return nil
		})
	}
}

// removeCredit deletes a credit. The caller holds mu.
func (s *Scheduler) removeCredit(b *spaceState, id [16]byte) {
	if b.credits[id] == nil {
		return
	}
	delete(b.credits, id)
	s.revoked[string(recordKey(creditByte, b.hash, id[:]...))] = struct{}{}
}

// RecordUse credits idle work for a user request that took this long: it was served from
// the answer of an entry, or used the slices of these chunks. The change is kept in
// memory until Flush.
func (s *Scheduler) RecordUse(space string, took time.Duration, answer *[16]byte, slices [][16]byte) {
	now, hash := s.o.Now(), kv.NewSpaceID(space)
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.states[hash]
	if b == nil {
		return
	}
	d := dateOf(now, s.config.Load().Zone)
	use := func(id [16]byte, took time.Duration) {
		if c := b.credits[id]; c != nil {
			a := s.account(b, c.kind, d)
			a.uses++
			a.earned += int64(max(0, c.saves-took))
		}
	}
	if answer != nil {
		use(*answer, took)
	}
	for _, id := range slices {
		use(id, 0)
	}
}

// RevokeCredits deletes the credits of these things, because a user request made them
// anew. The change is kept in memory until Flush.
func (s *Scheduler) RevokeCredits(space string, ids [][16]byte) {
	hash := kv.NewSpaceID(space)
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.states[hash]; b != nil {
		for _, id := range ids {
			s.removeCredit(b, id)
		}
	}
}

// shouldPrune reports whether enough credits arrived since the last Prune to do it again.
// The caller holds mu.
func (b *spaceState) shouldPrune() bool { return len(b.credits) > 2*b.pruned+maxCredit }

// Prune deletes the credits of things that no longer exist and returns their number. With
// Options.Alive the scheduler calls it by itself.
func (s *Scheduler) Prune(space string, alive func(id [16]byte) bool) (n int, err error) {
	hash := kv.NewSpaceID(space)
	s.mu.Lock()
	b := s.states[hash]
	if b == nil {
		s.mu.Unlock()
		return 0, nil
	}
	gone := maps.Clone(b.credits)
	s.mu.Unlock()
	maps.DeleteFunc(gone, func(id [16]byte, _ *credit) bool { return alive(id) })
	s.mu.Lock()
	for id, c := range gone {
		if s.states[hash] == b && b.credits[id] == c { // unless made anew meanwhile
			s.removeCredit(b, id)
			n++
		}
	}
	b.pruned = len(b.credits)
	s.mu.Unlock()
	return n, fault.Wrap("scheduler.Prune", s.flush())
}

// pruneKnown deletes the credits of things that Options.Alive reports as gone.
func (s *Scheduler) pruneKnown(space string) error {
	if s.o.Alive == nil {
		return nil
	}
	_, err := s.Prune(space, func(id [16]byte) bool { return s.o.Alive(space, id) })
	return err
}

// Speed is how eagerly the scheduler predicts questions in a space.
type Speed string

// The speeds.
const (
	PaceFull    Speed = "full"
	PaceSlow    Speed = "slow"    // once a window from knowledge, once from history
	PaceStopped Speed = "stopped" // prediction jobs are neither scanned nor run
)

// Pace is the balance of prediction in a space over the horizon.
type Pace struct {
	Speed  Speed   `json:"speed"`
	Why    string  `json:"why"`
	Spent  float64 `json:"spent"`  // seconds of compute
	Earned float64 `json:"earned"` // seconds of waiting saved
	// Until is when a stopped pace changes by itself, if nothing is earned before.
	Until time.Time `json:"until,omitzero"`
}

// mostlyMeasured is the share of the costs whose energy must be known for energy to decide.
const mostlyMeasured = 0.9

// computePace compares what prediction spent with what it earned. It stops and starts by
// itself, because costs beyond the horizon no longer count. The horizon is that of the
// last day with costs, until that day itself is beyond it; otherwise a stopped pace would
// restart briefly whenever an earlier day left the horizon. Where the energy of the costs
// is known, and the power of requests in W, energy decides instead of time: idle work may
// run at another power.
func computePace(pages map[date]*ledgerDay, p Pay, power float64, now time.Time, zone *time.Location) Pace {
	horizon := dateOf(now.Add(-p.Horizon), zone)
	oldest := horizon
	if last := lastSpent(pages); last >= oldest {
		oldest = min(oldest, oldest-(dateOf(now, zone)-last))
	}
	var spent, earned, measured int64
	var joules float64
	begun := date(-1) // first day with costs
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
			measured += a.measured
			joules += a.joules
			if a.spent > 0 && (begun < 0 || d < begun) {
				begun = d
			}
		}
	}
	pace := Pace{Spent: time.Duration(spent).Seconds(), Earned: time.Duration(earned).Seconds()}
	worth := p.Worth * pace.Earned
	pays := worth >= pace.Spent
	text := fmt.Sprintf("in %s prediction cost %.0f s of compute and saved %.1f s of waiting, worth %.0f s", formatDays(p.Horizon), pace.Spent, pace.Earned, worth)
	if power > 0 && float64(measured) >= mostlyMeasured*float64(spent) && measured > 0 {
		saved := pace.Earned * power
		pays = p.Worth*saved >= joules
		text += fmt.Sprintf("; it used %.0f J and saved about %.0f J, worth %.0f J", joules, saved, p.Worth*saved)
	}
	switch {
	case spent < int64(p.Trial):
		pace.Speed, pace.Why = PaceFull, text+": trial period"
	case pays:
		pace.Speed, pace.Why = PaceFull, text+": it pays"
	case begun > horizon:
		pace.Speed, pace.Why = PaceSlow, text+": it does not pay yet"
	default:
		pace.Speed, pace.Why = PaceStopped, text+": it does not pay"
	}
	return pace
}

// lastSpent is the last day on which prediction cost anything.
func lastSpent(pages map[date]*ledgerDay) date {
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

// formatDays prints whole days as days.
func formatDays(d time.Duration) string {
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%d days", d/day)
	}
	return d.String()
}

// pace is the current pace of a space. The caller holds mu.
func (s *Scheduler) pace(b *spaceState, now time.Time) Pace {
	c := s.config.Load()
	pace := computePace(b.days, c.Pay, s.requestPower(), now, c.Zone)
	if pace.Speed != PaceStopped {
		return pace
	}
	// Costs leave the horizon one day at a time.
	today := dateOf(now, c.Zone)
	last := today + date(c.Pay.Horizon/day) + 2
	for d := today + 1; d <= last; d++ {
		at := d.begins(c.Zone)
		if d == last || computePace(b.days, c.Pay, s.requestPower(), at, c.Zone).Speed != PaceStopped {
			pace.Until = at
			break
		}
	}
	return pace
}

// Pace returns how eagerly the scheduler predicts questions in a space.
func (s *Scheduler) Pace(space string) Pace {
	now, hash := s.o.Now(), kv.NewSpaceID(space)
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.states[hash]
	if b == nil {
		b = newSpaceState(space)
	}
	return s.pace(b, now)
}
