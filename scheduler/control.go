package scheduler

import (
	"bytes"
	"encoding/hex"
	"sync"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// Foreground reports that a user request begins; end reports its end. The running job is
// cancelled with percached.ErrPreempted as the cause. No job starts until IdleAfter has
// passed since the last request. Foreground does not block.
func (s *Scheduler) Foreground() (end func()) {
	s.mu.Lock()
	s.requests++
	s.interruptStep()
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		now := s.o.Now()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests--
		s.lastRequest = now
		s.notify()
	})
}

// Intake reports that an upload is being ingested; end reports its end. The running job
// is interrupted and no job starts meanwhile. Clean is not interrupted, because it would
// never finish under constant uploads. No idle delay applies afterwards. Intake does not
// block.
func (s *Scheduler) Intake() (end func()) {
	s.mu.Lock()
	s.intakes++
	if s.running == nil || s.running.job.Kind != Clean {
		s.interruptStep()
	}
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.intakes--
		s.notify()
	})
}

// interruptStep interrupts the running step. The caller holds mu.
func (s *Scheduler) interruptStep() {
	if s.interrupt != nil {
		s.interrupt(percached.ErrPreempted)
	}
}

// Changed reports that something changed in a space, so that its due work is scanned
// again. It does not block.
func (s *Scheduler) Changed(space string) {
	if space == "" || len(space) > maxName {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.stateOf(space)
	b.changed = allKinds
	clear(b.foundNothing)
	s.notify()
}

// notify wakes all waiters. The caller holds mu.
func (s *Scheduler) notify() {
	close(s.wakeup)
	s.wakeup = make(chan struct{})
}

// notified returns a channel that is closed at the next event.
func (s *Scheduler) notified() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wakeup
}

// interruptIn interrupts a job that runs for a space. The caller holds mu.
func (s *Scheduler) interruptIn(hash kv.SpaceID) {
	if s.running != nil && kv.NewSpaceID(s.running.job.Space) == hash {
		s.interruptStep()
	}
}

// Pause stops idle work until Resume, even after a restart. The running job is
// interrupted.
func (s *Scheduler) Pause() error { return fault.Wrap("scheduler.Pause", s.setPause(true)) }

// Resume ends a pause.
func (s *Scheduler) Resume() error { return fault.Wrap("scheduler.Resume", s.setPause(false)) }

func (s *Scheduler) setPause(paused bool) error {
	s.diskLock.Lock()
	defer s.diskLock.Unlock()
	r := record{key: []byte{ownByte, pauseByte}}
	if paused {
		r.value = sealed.NewWriter(formatVersion, r.key).Seal()
	}
	if err := s.commit([]record{r}); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = paused
	if paused {
		s.interruptStep()
	}
	s.notify()
	return nil
}

// SetScarce reports whether memory is scarce. While it is, no job starts, except those of a
// Drain, and the running job is interrupted. It does not block.
func (s *Scheduler) SetScarce(scarce bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scarce == scarce {
		return
	}
	s.scarce = scarce
	if scarce && !s.draining {
		s.interruptStep()
	}
	s.notify()
}

// Post records a device state reported by the user's app. If that state forbids idle
// work, the running job is interrupted.
func (s *Scheduler) Post(d Device) error {
	s.envLock.Lock()
	now := s.o.Now()
	s.sensor.clampToNow(now) // a known state with a future time must not override this one
	err := s.sensor.post(d)
	forbids := s.sensor.reasons(now) != nil
	s.envLock.Unlock()
	if err != nil {
		return fault.Wrap("scheduler.Post", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if forbids && !s.draining {
		s.interruptStep()
	}
	s.notify()
	return nil
}

// Forget empties a space's queue, because the documents behind its jobs may be deleted.
// The next scan finds what is still due. A job that runs there is interrupted. The ledger
// stays, except for credits of deleted things (see Options.Alive).
func (s *Scheduler) Forget(space string) error {
	const op = "scheduler.Forget"
	if err := s.dropJobs(kv.NewSpaceID(space)); err != nil {
		return fault.Wrap(op, err)
	}
	s.Changed(space)
	return fault.Wrap(op, s.pruneKnown(space))
}

// dropJobs deletes all jobs of a space.
func (s *Scheduler) dropJobs(hash kv.SpaceID) error {
	s.diskLock.Lock()
	defer s.diskLock.Unlock()
	var gone []*queuedJob
	s.mu.Lock()
	for _, it := range s.jobs {
		if it.space.hash == hash {
			gone = append(gone, it)
		}
	}
	s.interruptIn(hash)
	s.mu.Unlock()
	return s.deleteJobs(gone)
}

// DropSpace deletes everything stored about a space. A job that runs there is
// interrupted.
func (s *Scheduler) DropSpace(space string) error {
	const op = "scheduler.DropSpace"
	s.diskLock.Lock()
	defer s.diskLock.Unlock()
	hash := kv.NewSpaceID(space)
	s.mu.Lock()
	s.interruptIn(hash)
	delete(s.states, hash)
	for id, it := range s.jobs {
		if it.space.hash == hash {
			delete(s.jobs, id)
		}
	}
	for key := range s.dirty {
		if len(key) >= restAt && key[2:restAt] == string(hash[:]) {
			delete(s.dirty, key)
		}
	}
	s.mu.Unlock()
	// The space's own record is deleted last, so that records left by a crash can still
	// be assigned to it.
	for _, kind := range []byte{queueByte, pageByte, creditByte, spaceByte} {
		if err := s.deleteAll(recordKey(kind, hash)); err != nil {
			return fault.Wrap(op, err)
		}
	}
	return nil
}

func (s *Scheduler) deleteAll(prefix []byte) error {
	var keys [][]byte
	err := s.o.DB.View(func(tx *kv.Tx) error {
		return tx.Keys(prefix, func(key []byte, _ int64) error {
			keys = append(keys, bytes.Clone(key))
			return nil
		})
	})
	if err != nil {
		return err
	}
	b := s.o.DB.Bulk()
	defer b.Cancel()
	for _, key := range keys {
		if err := b.Delete(key); err != nil {
			return err
		}
	}
	return b.Flush()
}

// Retry makes a parked or delayed job due now.
func (s *Scheduler) Retry(id string) error {
	const op = "scheduler.Retry"
	var short jobID
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != len(short) {
		return fault.New(fault.NotFound, op, "job %q does not exist", id)
	}
	short = jobID(raw)
	s.diskLock.Lock()
	defer s.diskLock.Unlock()
	s.mu.Lock()
	it := s.jobs[short]
	s.mu.Unlock()
	if it == nil {
		return fault.New(fault.NotFound, op, "job %q does not exist", id)
	}
	fresh := *it
	fresh.job.Attempts, fresh.job.Parked, fresh.job.From = 0, false, time.Time{}
	if err := s.enqueue(it.space, []*queuedJob{&fresh}, nil); err != nil {
		return fault.Wrap(op, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify()
	return nil
}
