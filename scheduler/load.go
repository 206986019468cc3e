package scheduler

import (
	"bytes"
	"errors"

	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// load reads all records. What cannot be read is removed and told: jobs are
// found anew, and the rest is but accounts.
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

// read takes one record in. Spaces come first.
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
		b := newBook(name)
		if b.hash != hash {
			return sealed.ErrDamaged
		}
		b.stored, b.served = true, served
		s.books[hash] = b
		s.turn = max(s.turn, served)
		return nil
	}
	b := s.books[hash]
	if b == nil {
		// A later version's space record would have ended this already.
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
		s.jobs[j.id()] = &item{job: j, id: j.id(), book: b}
	case pageByte:
		p, err := decodePage(key, value)
		if err != nil {
			return err
		}
		b.pages[dateFrom(tail)] = p
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
		s.paused = true // the key says it all
		return nil
	}
	s.usage, err = decodeUsage(key, value)
	return err
}
