package scheduler

import (
	"maps"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// keepDays is how long the ledger remembers, if the horizon is no longer.
const keepDays = 400

// date counts days since 1970, as the calendar of the configured zone has them.
type date int32

func dateOf(t time.Time, zone *time.Location) date {
	y, m, d := t.In(zone).Date()
	return date(max(0, wall(y, m, d).Unix()/int64(day/time.Second)))
}

// begins is the midnight at which a day begins.
func (d date) begins(zone *time.Location) time.Time {
	return first(time.Unix(int64(d)*int64(day/time.Second), 0).UTC(), zone)
}

// account is what one kind cost and earned on one day. None of it is negative.
type account struct {
	jobs, failed, preempted      int64
	spent                        int64 // ns
	computed, generated, written int64
	earned                       int64 // ns
	uses                         int64
	joules                       float64
}

// numbers lists the whole numbers in the order in which they are stored.
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
}

// page is a day of a space's ledger: an account for each kind, by rank.
type page [len(kinds)]account

// Account is what jobs of a kind cost, and what they earned.
type Account struct {
	Kind      Kind    `json:"kind"`
	Jobs      int     `json:"jobs"`      // done
	Failed    int     `json:"failed"`    // attempts
	Preempted int     `json:"preempted"` // attempts that gave way to a request
	Seconds   float64 `json:"seconds"`   // of compute, those of failed and preempted attempts too
	Computed  int     `json:"computed"`  // tokens
	Generated int     `json:"generated"` // tokens
	Written   int64   `json:"written"`   // bytes
	Joules    float64 `json:"joules"`    // of the whole machine, where it tells
	Earned    float64 `json:"earned"`    // seconds that nobody waited, as what was made was used
	Uses      int     `json:"uses"`
}

// account gives what was booked under a kind, on a page that it makes if need
// be, and is about to be changed. It wants mu.
func (s *Scheduler) account(b *book, k Kind, d date) *account {
	p := b.pages[d]
	if p == nil {
		p = &page{}
		b.pages[d] = p
		keep := max(keepDays, date(s.config.Load().Pay.Horizon/day)+1)
		for old := range b.pages {
			if old < d-keep {
				delete(b.pages, old)
				s.mark(pageKey(b.hash, old), func([]byte) []byte { return nil })
			}
		}
	}
	s.mark(pageKey(b.hash, d), func(key []byte) []byte { return encodePage(key, p) })
	return &p[k.rank()]
}

// Ledger gives what each kind of job cost and earned since that day: in one
// space, or in all together if the name is empty. Kinds without any are left out.
func (s *Scheduler) Ledger(space string, since time.Time) ([]Account, error) {
	from := dateOf(since, s.config.Load().Zone)
	var sum page
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed("scheduler.Ledger")
	}
	for _, b := range s.books {
		if space != "" && b.name != space {
			continue
		}
		for d, p := range b.pages {
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
			all = append(all, a.tell(kinds[i]))
		}
	}
	return all, nil
}

func (a account) tell(k Kind) Account {
	return Account{
		Kind: k, Jobs: int(a.jobs), Failed: int(a.failed), Preempted: int(a.preempted),
		Seconds:  time.Duration(a.spent).Seconds(),
		Computed: int(a.computed), Generated: int(a.generated), Written: a.written, Joules: a.joules,
		Earned: time.Duration(a.earned).Seconds(), Uses: int(a.uses),
	}
}

// credit is what something that a job made saves, and who gets the merit.
type credit struct {
	kind  Kind
	saves time.Duration
}

// grant books what a job made. It wants mu.
func (s *Scheduler) grant(b *book, k Kind, credits []Credit) {
	for _, c := range credits[:min(len(credits), maxCredit)] {
		id := c.ID
		b.credits[id] = &credit{kind: k, saves: max(0, c.Saves)}
		key := recordKey(creditByte, b.hash, id[:]...)
		delete(s.gone, string(key))
		s.mark(key, func(key []byte) []byte {
			if c := b.credits[id]; c != nil {
				return encodeCredit(key, c)
			}
			return nil
		})
	}
}

// revoke drops a credit. It wants mu.
func (s *Scheduler) revoke(b *book, id [16]byte) {
	if b.credits[id] == nil {
		return
	}
	delete(b.credits, id)
	s.gone[string(recordKey(creditByte, b.hash, id[:]...))] = struct{}{}
}

// Used says that a request of the user took that long and was served from the
// answer of an entry, or from these chunks' slices: what idle work made of
// them has earned. It is gathered in memory, see Flush.
func (s *Scheduler) Used(space string, took time.Duration, answer *[16]byte, slices [][16]byte) {
	now, hash := s.o.Now(), kv.NewSpaceID(space)
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.books[hash]
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

// Own says that a request of the user made these anew: whoever made them
// before earns nothing by them any more. It is gathered in memory, see Flush.
func (s *Scheduler) Own(space string, ids [][16]byte) {
	hash := kv.NewSpaceID(space)
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.books[hash]; b != nil {
		for _, id := range ids {
			s.revoke(b, id)
		}
	}
}

// overgrown says that so many credits came in since they were pruned that it is
// worth doing again. It wants mu.
func (b *book) overgrown() bool { return len(b.credits) > 2*b.pruned+maxCredit }

// Prune drops the credits of what is gone, and counts them. With Options.Alive it
// happens by itself.
func (s *Scheduler) Prune(space string, alive func(id [16]byte) bool) (n int, err error) {
	hash := kv.NewSpaceID(space)
	s.mu.Lock()
	b := s.books[hash]
	if b == nil {
		s.mu.Unlock()
		return 0, nil
	}
	gone := maps.Clone(b.credits)
	s.mu.Unlock()
	maps.DeleteFunc(gone, func(id [16]byte, _ *credit) bool { return alive(id) })
	s.mu.Lock()
	for id, c := range gone {
		if s.books[hash] == b && b.credits[id] == c { // it was not made anew meanwhile
			s.revoke(b, id)
			n++
		}
	}
	b.pruned = len(b.credits)
	s.mu.Unlock()
	return n, fault.Wrap("scheduler.Prune", s.flush())
}

// pruneKnown drops the credits of what Options.Alive says is gone.
func (s *Scheduler) pruneKnown(space string) error {
	if s.o.Alive == nil {
		return nil
	}
	_, err := s.Prune(space, func(id [16]byte) bool { return s.o.Alive(space, id) })
	return err
}
