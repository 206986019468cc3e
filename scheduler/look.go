package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// lookLimit is how many jobs of a kind are asked for at a time, those aside of
// which is known that they wait or are parked: they must not hide the others.
const lookLimit = 64

// finding is what is due of one kind.
type finding struct {
	due  []Due
	more bool // there may be more
}

// look asks the worker what is due of an errand, in the spaces where something
// happened. It fails if ctx ends or the database does; what the worker fails at is
// noted, and tried again later.
func (s *Scheduler) look(ctx context.Context, now time.Time, e *errand) error {
	if err := s.enrol(); err != nil {
		return err
	}
	e.learn(s.spaces())
	for _, b := range s.toLook(now, e) {
		if err := s.lookThrough(ctx, b, now, e.wants(b.name)); err != nil {
			s.mu.Lock()
			b.changed = allKinds
			s.mu.Unlock()
			return err
		}
	}
	return nil
}

// enrol asks for the list of spaces, if that is to be done. Jobs of spaces that
// are gone go.
func (s *Scheduler) enrol() error {
	s.mu.Lock()
	all := s.all
	s.all = false
	s.mu.Unlock()
	if !all {
		return nil
	}
	err := s.enrolAll()
	if err != nil {
		s.mu.Lock()
		s.all = true
		s.mu.Unlock()
	}
	return err
}

func (s *Scheduler) enrolAll() error {
	names, err := s.o.Worker.Spaces()
	if err != nil {
		return fault.Wrap("scheduler: spaces", err)
	}
	s.write.Lock()
	defer s.write.Unlock()
	alive := map[kv.SpaceID]bool{}
	var gone []*item
	s.mu.Lock()
	for _, name := range names {
		b := s.book(name)
		b.changed = allKinds
		alive[b.hash] = true
	}
	for _, it := range s.jobs {
		if !alive[it.book.hash] {
			gone = append(gone, it)
		}
	}
	s.mu.Unlock()
	return s.drop(gone)
}

// toLook lists the spaces that are to be looked through, by name.
func (s *Scheduler) toLook(now time.Time, e *errand) (books []*book) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.books {
		if b.stopped && s.pace(b, now).Speed != PaceStopped {
			b.changed = allKinds
		}
		if b.pending(now, s.config.Load().Retry, e.wants(b.name)) != 0 {
			books = append(books, b)
		}
	}
	slices.SortFunc(books, byName)
	return books
}

// pending lists the kinds of those wanted that are to be looked for in a space.
// What could not be looked for is tried again no later than the longest back-off
// from now, if the clock was set back. It wants mu.
func (b *book) pending(now time.Time, r Retry, wanted kindSet) kindSet {
	if b.fault != nil && (!now.Before(b.again) || b.again.After(now.Add(r.Longest))) {
		return wanted & (b.changed | b.sick)
	}
	return wanted & b.changed &^ b.sick
}

// lookThrough looks through a space, again if all that was found of a kind
// waits, and there is more behind it.
func (s *Scheduler) lookThrough(ctx context.Context, b *book, now time.Time, wanted kindSet) error {
	s.mu.Lock()
	overgrown := b.overgrown()
	s.mu.Unlock()
	if overgrown {
		if err := s.pruneKnown(b.name); err != nil {
			return err
		}
	}
	for before := 0; ; {
		found, asked, err := s.lookOnce(ctx, b, now, wanted)
		if err != nil || asked <= before {
			return err
		}
		before = asked
		if !s.hides(b, found, now) {
			return nil
		}
		s.mu.Lock()
		for k := range found {
			b.changed |= setOf(k)
		}
		s.mu.Unlock()
	}
}

// lookOnce asks for the kinds in one space that are wanted and may have changed,
// so many jobs in all, and writes what it finds into the queue.
func (s *Scheduler) lookOnce(ctx context.Context, b *book, now time.Time, wanted kindSet) (found map[Kind]finding, asked int, err error) {
	s.mu.Lock()
	wanted = b.pending(now, s.config.Load().Retry, wanted)
	b.changed &^= wanted // what happens from here on is looked for again
	b.stopped = s.pace(b, now).Speed == PaceStopped
	stopped := b.stopped
	limits := s.limits(b, now)
	s.mu.Unlock()
	found = map[Kind]finding{}
	var failed error
	var ill kindSet
	for _, k := range kinds {
		if stopped && k.Predicts() || !wanted.has(k) {
			continue
		}
		asked += limits[k]
		due, err := s.o.Worker.Due(ctx, b.name, k, limits[k])
		switch {
		case ctx.Err() != nil:
			return nil, 0, ctx.Err()
		case fault.KindOf(err) == fault.NotFound: // the space went
			due, err = nil, nil
		case err == nil:
			err = fits(due)
		}
		if err != nil {
			ill |= setOf(k)
			if failed == nil {
				failed = fault.Wrap("scheduler: look for "+string(k), err)
			}
			continue
		}
		found[k] = finding{due, len(due) >= limits[k]}
	}
	if err := s.merge(b, found, now); err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.sick = b.sick&^wanted | ill
	switch {
	case failed != nil:
		b.fault = failed
		b.failed++
		b.again = now.Add(s.config.Load().Retry.after(b.failed))
		s.o.Logger.Warn("idle work: could not look for what is due", "why", why(failed), "again", b.again)
	case b.sick == 0:
		b.fault, b.failed, b.again = nil, 0, time.Time{}
	}
	return found, asked, nil
}

// hides says whether there may be jobs that could run behind some that cannot.
func (s *Scheduler) hides(b *book, found map[Kind]finding, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, f := range found {
		if f.more && !s.canRun(b, k, now) {
			return true
		}
	}
	return false
}

// canRun says whether a job of a kind is there whose time has come. It wants mu.
func (s *Scheduler) canRun(b *book, k Kind, now time.Time) bool {
	for _, it := range s.jobs {
		if it.book == b && it.job.Kind == k && !s.waits(it.job, now) {
			return true
		}
	}
	return false
}

// waits says that a job is parked, or its time has not come.
func (s *Scheduler) waits(j Job, now time.Time) bool {
	return j.Parked || s.startOf(j, now).After(now)
}

// limits says how many jobs of each kind are asked for. It wants mu.
func (s *Scheduler) limits(b *book, now time.Time) map[Kind]int {
	limits := map[Kind]int{}
	for _, k := range kinds {
		limits[k] = lookLimit
	}
	for _, it := range s.jobs {
		if it.book == b && s.waits(it.job, now) {
			limits[it.job.Kind]++
		}
	}
	return limits
}

// fits says whether the queue can hold what was found.
func fits(due []Due) error {
	for _, d := range due {
		if len(d.Subject) > maxSubject {
			return fault.New(fault.Internal, "scheduler: subject", "one has %d bytes, more than %d", len(d.Subject), maxSubject)
		}
	}
	return nil
}
