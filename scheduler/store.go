package scheduler

import (
	"bytes"
	"errors"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// load reads all records. It deletes and reports unreadable ones: jobs are found again,
// and the rest is accounting.
func (s *Scheduler) load() error {
	var damaged [][]byte
	err := s.o.DB.View(func(tx *kv.Tx) error {
		for _, kind := range []byte{spaceByte, queueByte, pageByte, creditByte, pauseByte, budgetByte} {
			err := tx.Scan([]byte{ownByte, kind}, func(key, value []byte, err error) error {
				if err == nil {
					err = s.read(kind, key, value)
				}
				if errors.Is(err, sealed.ErrDamaged) || errors.Is(err, kv.ErrDamaged) {
					damaged = append(damaged, bytes.Clone(key))
					s.o.damaged(err)
					return nil
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	b := s.o.DB.Bulk()
	defer b.Cancel()
	for _, key := range damaged {
		if err := b.Delete(key); err != nil {
			return err
		}
	}
	return b.Flush()
}

// read decodes one record. Space records come first.
func (s *Scheduler) read(kind byte, key, value []byte) error {
	rest := map[byte]int{queueByte: len(jobID{}), pageByte: 4, creditByte: 16}[kind]
	if kind == pauseByte || kind == budgetByte {
		return s.readAlone(kind, key, value)
	}
	hash, tail, ok := splitKey(key, rest)
	if !ok {
		return sealed.ErrDamaged
	}
	if kind == spaceByte {
		name, served, err := decodeBook(key, value)
		if err != nil {
			return err
		}
		b := newSpaceState(name)
		if b.hash != hash {
			return sealed.ErrDamaged
		}
		b.stored, b.served = true, served
		s.states[hash] = b
		s.turn = max(s.turn, served)
		return nil
	}
	b := s.states[hash]
	if b == nil {
		// A space record of a later version would have failed already.
		return sealed.ErrDamaged
	}
	switch kind {
	case queueByte:
		j, err := decodeJob(key, value)
		if err != nil {
			return err
		}
		j.Space = b.name
		if j.id() != jobID(tail) {
			return sealed.ErrDamaged
		}
		s.jobs[j.id()] = &queuedJob{job: j, id: j.id(), space: b}
	case pageByte:
		p, err := decodePage(key, value)
		if err != nil {
			return err
		}
		b.days[dateFrom(tail)] = p
	case creditByte:
		c, err := decodeCredit(key, value)
		if err != nil {
			return err
		}
		b.credits[[16]byte(tail)] = c
	}
	return nil
}

func (s *Scheduler) readAlone(kind byte, key, value []byte) (err error) {
	if len(key) != 2 {
		return sealed.ErrDamaged
	}
	if kind == pauseByte {
		s.paused = true // the key alone means paused
		return nil
	}
	s.usage, err = decodeUsage(key, value)
	return err
}

// maxDeletes is how many revoked credits one transaction deletes.
const maxDeletes = 1000

// record is a write; without a value, a delete.
type record struct{ key, value []byte }

// markDirty schedules a write of encode's result under key with the next transaction; an
// empty result deletes the record. The caller holds mu.
func (s *Scheduler) markDirty(key []byte, encode func(key []byte) []byte) {
	s.dirty[string(key)] = encode
}

// storeSpace schedules the space's own record, without which its other records cannot be
// read. The caller holds mu.
func (s *Scheduler) storeSpace(b *spaceState) {
	b.stored = true
	s.markDirty(recordKey(spaceByte, b.hash), func(key []byte) []byte { return encodeBook(key, b) })
}

// commit writes these records and all scheduled ones in one transaction. If that fails,
// the scheduled ones stay scheduled. The caller holds diskLock.
func (s *Scheduler) commit(records []record) error {
	s.mu.Lock()
	marked := s.dirty
	s.dirty = map[string]func([]byte) []byte{}
	for key, encode := range marked {
		records = append(records, record{[]byte(key), encode([]byte(key))})
	}
	var gone []string
	for key := range s.revoked {
		if len(gone) == maxDeletes {
			break
		}
		gone = append(gone, key)
		records = append(records, record{key: []byte(key)})
		delete(s.revoked, key)
	}
	s.mu.Unlock()
	if len(records) == 0 {
		return nil
	}
	err := s.o.DB.Update(func(tx *kv.Tx) error {
		for _, r := range records {
			var err error
			if r.value == nil {
				err = tx.Delete(r.key)
			} else {
				err = tx.Set(r.key, r.value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, encode := range marked {
		if _, again := s.dirty[key]; !again {
			s.dirty[key] = encode
		}
	}
	for _, key := range gone {
		if _, again := s.dirty[key]; !again {
			s.revoked[key] = struct{}{}
		}
	}
	return err
}

// Flush writes what is only in memory: earnings and revoked credits.
func (s *Scheduler) Flush() error { return fault.Wrap("scheduler.Flush", s.flush()) }

func (s *Scheduler) flush() error {
	s.diskLock.Lock()
	defer s.diskLock.Unlock()
	for {
		if err := s.commit(nil); err != nil {
			return err
		}
		s.mu.Lock()
		left := len(s.revoked)
		s.mu.Unlock()
		if left == 0 {
			return nil
		}
	}
}
