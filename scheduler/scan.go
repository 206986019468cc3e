package scheduler

import (
	"context"
	"slices"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// scanLimit is how many runnable jobs of a kind one scan asks for. Known waiting and
// parked jobs come on top, so that they do not hide others.
const scanLimit = 64

// finding is the due work of one kind.
type finding struct {
	due  []Due
	more bool // the worker may have more
}

// scanDue asks the worker for due work in the spaces where something changed. It fails if
// ctx ends or the database fails. A failure of the worker is recorded and retried.
func (s *Scheduler) scanDue(ctx context.Context, now time.Time, e *drain) error {
	if err := s.refreshSpaces(); err != nil {
		return err
	}
	e.addSpaces(s.spaces())
	for _, b := range s.spacesToScan(now, e) {
		if err := s.scanSpace(ctx, b, now, e.kindsFor(b.name)); err != nil {
			s.mu.Lock()
			b.changed = allKinds
			s.mu.Unlock()
			return err
		}
	}
	return nil
}

// refreshSpaces reloads the list of spaces if requested, and deletes jobs of deleted
// spaces.
func (s *Scheduler) refreshSpaces() error {
	s.mu.Lock()
	all := s.rescan
	s.rescan = false
	s.mu.Unlock()
	if !all {
		return nil
	}
	err := s.listSpaces()
	if err != nil {
		s.mu.Lock()
		s.rescan = true
		s.mu.Unlock()
	}
	return err
}

func (s *Scheduler) listSpaces() error {
	names, err := s.o.Worker.Spaces()
	if err != nil {
		return fault.Wrap("scheduler: spaces", err)
	}
	s.diskLock.Lock()
	defer s.diskLock.Unlock()
	alive := map[kv.SpaceID]bool{}
	var gone []*queuedJob
	s.mu.Lock()
	for _, name := range names {
		b := s.stateOf(name)
		b.changed = allKinds
		alive[b.hash] = true
	}
	for _, it := range s.jobs {
		if !alive[it.space.hash] {
			gone = append(gone, it)
		}
	}
	s.mu.Unlock()
	return s.deleteJobs(gone)
}

// spacesToScan lists the spaces to scan, by name.
func (s *Scheduler) spacesToScan(now time.Time, e *drain) (books []*spaceState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.states {
		if b.skippedPrediction && s.pace(b, now).Speed != PaceStopped {
			b.changed = allKinds
		}
		if b.kindsToScan(now, s.config.Load().Retry, e.kindsFor(b.name)) != 0 {
			books = append(books, b)
		}
	}
	slices.SortFunc(books, byName)
	return books
}

// kindsToScan returns which of the wanted kinds to scan in a space. A failed scan is
// retried at the latest after the longest back-off, in case the clock was set back. The
// caller holds mu.
func (b *spaceState) kindsToScan(now time.Time, r Retry, wanted kindSet) kindSet {
	if b.scanErr != nil && (!now.Before(b.scanAgain) || b.scanAgain.After(now.Add(r.Longest))) {
		return wanted & (b.changed | b.failedKinds)
	}
	return wanted & b.changed &^ b.failedKinds
}

// scanSpace scans a space. If all results of a kind wait and the worker has more, it
// scans again with a higher limit.
func (s *Scheduler) scanSpace(ctx context.Context, b *spaceState, now time.Time, wanted kindSet) error {
	s.mu.Lock()
	overgrown := b.shouldPrune()
	s.mu.Unlock()
	if overgrown {
		if err := s.pruneKnown(b.name); err != nil {
			return err
		}
	}
	for before := 0; ; {
		found, asked, err := s.scanOnce(ctx, b, now, wanted)
		if err != nil || asked <= before {
			return err
		}
		before = asked
		if !s.hidesRunnable(b, found, now) {
			return nil
		}
		s.mu.Lock()
		for k := range found {
			b.changed |= setOf(k)
		}
		s.mu.Unlock()
	}
}

// scanOnce asks for the changed kinds of one space and writes the results to the queue.
// It returns how many jobs it asked for.
func (s *Scheduler) scanOnce(ctx context.Context, b *spaceState, now time.Time, wanted kindSet) (found map[Kind]finding, asked int, err error) {
	s.mu.Lock()
	wanted = b.kindsToScan(now, s.config.Load().Retry, wanted)
	b.changed &^= wanted // changes from here on cause another scan
	b.skippedPrediction = s.pace(b, now).Speed == PaceStopped
	stopped := b.skippedPrediction
	limits := s.scanLimits(b, now)
	s.mu.Unlock()
	found = map[Kind]finding{}
	var failed error
	var ill kindSet
	for _, k := range kinds {
		if stopped && k.Predicts() || !wanted.contains(k) {
			continue
		}
		asked += limits[k]
		due, err := s.o.Worker.Due(ctx, b.name, k, limits[k])
		switch {
		case ctx.Err() != nil:
			return nil, 0, ctx.Err()
		case fault.KindOf(err) == fault.NotFound: // the space was deleted
			due, err = nil, nil
		case err == nil:
			err = checkSubjects(due)
		}
		if err != nil {
			ill |= setOf(k)
			if failed == nil {
				failed = fault.Wrap("scheduler: scan for "+string(k), err)
			}
			continue
		}
		found[k] = finding{due, len(due) >= limits[k]}
	}
	if err := s.mergeFound(b, found, now); err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b.failedKinds = b.failedKinds&^wanted | ill
	switch {
	case failed != nil:
		b.scanErr = failed
		b.scanFailures++
		b.scanAgain = now.Add(s.config.Load().Retry.after(b.scanFailures))
		s.o.Logger.Warn("idle work: cannot scan for due work", "why", errorCode(failed), "again", b.scanAgain)
	case b.failedKinds == 0:
		b.scanErr, b.scanFailures, b.scanAgain = nil, 0, time.Time{}
	}
	return found, asked, nil
}

// hidesRunnable reports whether delayed jobs may hide runnable ones.
func (s *Scheduler) hidesRunnable(b *spaceState, found map[Kind]finding, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, f := range found {
		if f.more && !s.canRun(b, k, now) {
			return true
		}
	}
	return false
}

// canRun reports whether a job of this kind may start now. The caller holds mu.
func (s *Scheduler) canRun(b *spaceState, k Kind, now time.Time) bool {
	for _, it := range s.jobs {
		if it.space == b && it.job.Kind == k && !s.isDelayed(it.job, now) {
			return true
		}
	}
	return false
}

// isDelayed reports whether a job is parked or must wait.
func (s *Scheduler) isDelayed(j Job, now time.Time) bool {
	return j.Parked || s.startTime(j, now).After(now)
}

// scanLimits is how many jobs of each kind to ask for. The caller holds mu.
func (s *Scheduler) scanLimits(b *spaceState, now time.Time) map[Kind]int {
	limits := map[Kind]int{}
	for _, k := range kinds {
		limits[k] = scanLimit
	}
	for _, it := range s.jobs {
		if it.space == b && s.isDelayed(it.job, now) {
			limits[it.job.Kind]++
		}
	}
	return limits
}

// checkSubjects refuses subjects that are too long for the queue.
func checkSubjects(due []Due) error {
	for _, d := range due {
		if len(d.Subject) > maxSubject {
			return fault.New(fault.Internal, "scheduler: subject", "the subject has %d bytes, more than the maximum of %d", len(d.Subject), maxSubject)
		}
	}
	return nil
}
