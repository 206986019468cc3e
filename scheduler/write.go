package scheduler

import (
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// goneAtOnce is how many dropped credits one transaction deletes besides.
const goneAtOnce = 1000

// record is one to be written; without a value it is deleted.
type record struct{ key, value []byte }

// mark says that what encode gives is not yet on disk under key; nothing: the
// record goes. The next transaction writes it. It wants mu.
func (s *Scheduler) mark(key []byte, encode func(key []byte) []byte) { s.dirty[string(key)] = encode }

// keep has the space's own record written, without which nothing that is stored
// of it is found again. It wants mu.
func (s *Scheduler) keep(b *book) {
	b.stored = true
	s.mark(recordKey(spaceByte, b.hash), func(key []byte) []byte { return encodeBook(key, b) })
}

// commit writes these records and all that was marked in one transaction. If
// that fails, what was marked stays so. The caller holds write.
func (s *Scheduler) commit(records []record) error {
	s.mu.Lock()
	marked := s.dirty
	s.dirty = map[string]func([]byte) []byte{}
	for key, encode := range marked {
		records = append(records, record{[]byte(key), encode([]byte(key))})
	}
	var gone []string
	for key := range s.gone {
		if len(gone) == goneAtOnce {
			break
		}
		gone = append(gone, key)
		records = append(records, record{key: []byte(key)})
		delete(s.gone, key)
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
			s.gone[key] = struct{}{}
		}
	}
	return err
}

// Flush writes what was gathered in memory: what answers earned, and the
// credits that went.
func (s *Scheduler) Flush() error { return fault.Wrap("scheduler.Flush", s.flush()) }

func (s *Scheduler) flush() error {
	s.write.Lock()
	defer s.write.Unlock()
	for {
		if err := s.commit(nil); err != nil {
			return err
		}
		s.mu.Lock()
		left := len(s.gone)
		s.mu.Unlock()
		if left == 0 {
			return nil
		}
	}
}
