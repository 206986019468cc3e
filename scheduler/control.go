package scheduler

import (
	"bytes"
	"encoding/hex"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// Pause ends idle work until Resume, over restarts too. What runs gives way.
func (s *Scheduler) Pause() error { return fault.Wrap("scheduler.Pause", s.setPause(true)) }

// Resume ends a pause.
func (s *Scheduler) Resume() error { return fault.Wrap("scheduler.Resume", s.setPause(false)) }

func (s *Scheduler) setPause(paused bool) error {
	s.write.Lock()
	defer s.write.Unlock()
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
		s.giveWay()
	}
	s.ring()
	return nil
}

// Post takes the state of the device from who knows it. What runs gives way if that
// forbids it.
func (s *Scheduler) Post(d Device) error {
	s.outside.Lock()
	now := s.o.Now()
	s.sensor.settle(now) // a state from the future must not beat this one
	err := s.sensor.post(d)
	forbids := s.sensor.forbids(now) != nil
	s.outside.Unlock()
	if err != nil {
		return fault.Wrap("scheduler.Post", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if forbids && !s.early {
		s.giveWay()
	}
	s.ring()
	return nil
}

// Forget empties a space's queue, as documents that its jobs are about may be
// gone: what is still due is found anew. What runs there gives way. The ledger
// stays, but for credits of what Options.Alive says is gone.
func (s *Scheduler) Forget(space string) error {
	const op = "scheduler.Forget"
	if err := s.empty(kv.NewSpaceID(space)); err != nil {
		return fault.Wrap(op, err)
	}
	s.Changed(space)
	return fault.Wrap(op, s.pruneKnown(space))
}

// empty drops all jobs of a space.
func (s *Scheduler) empty(hash kv.SpaceID) error {
	s.write.Lock()
	defer s.write.Unlock()
	var gone []*item
	s.mu.Lock()
	for _, it := range s.jobs {
		if it.book.hash == hash {
			gone = append(gone, it)
		}
	}
	s.interruptIn(hash)
	s.mu.Unlock()
	return s.drop(gone)
}

// DropSpace removes all that is kept of a space. What runs there gives way.
func (s *Scheduler) DropSpace(space string) error {
	const op = "scheduler.DropSpace"
	s.write.Lock()
	defer s.write.Unlock()
	hash := kv.NewSpaceID(space)
	s.mu.Lock()
	s.interruptIn(hash)
	delete(s.books, hash)
	for id, it := range s.jobs {
		if it.book.hash == hash {
			delete(s.jobs, id)
		}
	}
	for key := range s.dirty {
		if len(key) >= restAt && key[2:restAt] == string(hash[:]) {
			delete(s.dirty, key)
		}
	}
	s.mu.Unlock()
	// The space's own record goes last: what a crash leaves is still its.
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

// Retry has a job tried again now: one that is parked, or waits after a failure.
func (s *Scheduler) Retry(id string) error {
	const op = "scheduler.Retry"
	var short jobID
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != len(short) {
		return fault.New(fault.NotFound, op, "there is no job %q", id)
	}
	short = jobID(raw)
	s.write.Lock()
	defer s.write.Unlock()
	s.mu.Lock()
	it := s.jobs[short]
	s.mu.Unlock()
	if it == nil {
		return fault.New(fault.NotFound, op, "there is no job %q", id)
	}
	fresh := *it
	fresh.job.Attempts, fresh.job.Parked, fresh.job.From = 0, false, time.Time{}
	if err := s.enqueue(it.book, []*item{&fresh}, nil); err != nil {
		return fault.Wrap(op, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring()
	return nil
}
