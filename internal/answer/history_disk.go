package answer

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"slices"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/qabank"
)

// cursorName is the maximum length of a cursor's name, in bytes.
const cursorName = 64

// Since returns the records after a cursor, oldest first and at most n, and the number to
// pass to Advance when they are done. It writes the pending records first, because only
// records on disk have numbers. It skips records that cannot be read. A cursor that was
// never moved is before all records.
func (h *History) Since(space, cursor string, n int) (records []Record, upto uint64, err error) {
	const op = "answer.History.Since"
	h.write.Lock()
	defer h.write.Unlock()
	p, key, err := h.cursor(space, cursor)
	if err == nil {
		err = h.save(space, p)
	}
	if err != nil {
		return nil, 0, fault.Wrap(op, err)
	}
	err = h.db.View(func(tx *kv.Tx) error {
		if upto, err = readNumber(tx, key); err != nil {
			return err
		}
		for _, k := range p.keys {
			if number(k) < upto {
				continue
			}
			if len(records) >= n {
				break
			}
			r, whole, err := readRecord(tx, k)
			if err != nil {
				return err
			}
			if r.Number = number(k); whole {
				records = append(records, r)
			}
			upto = number(k) + 1
		}
		return nil
	})
	return records, upto, fault.Wrap(op, err)
}

// Has says whether the record with this number still exists.
func (h *History) Has(space string, n uint64) (bool, error) {
	h.write.Lock()
	defer h.write.Unlock()
	p, err := h.past(space)
	if err != nil {
		return false, fault.Wrap("answer.History.Has", err)
	}
	_, there := slices.BinarySearchFunc(p.keys, n, func(k []byte, n uint64) int { return cmp.Compare(number(k), n) })
	return there, nil
}

// MarkWrong records that a user called the answer to a question wrong, in the latest record
// of the question that keeps an answer. It does nothing if there is none.
func (h *History) MarkWrong(space, question string) error {
	const op = "answer.History.MarkWrong"
	h.write.Lock()
	defer h.write.Unlock()
	p, err := h.past(space)
	if err == nil {
		err = h.save(space, p)
	}
	if err != nil {
		return fault.Wrap(op, err)
	}
	return fault.Wrap(op, h.db.Update(func(tx *kv.Tx) error {
		for _, k := range slices.Backward(p.keys) {
			r, whole, err := readRecord(tx, k)
			if err != nil {
				return err
			}
			if whole && r.Answer != "" && qabank.Normalise(r.Question) == qabank.Normalise(question) {
				r.Wrong = true
				return putRecord(tx, k, r)
			}
		}
		return nil
	}))
}

// Advance moves a cursor to the number that Since returned, never back. The move is
// durable when Advance returns. Conflict means that the space was dropped since then.
func (h *History) Advance(space, cursor string, upto uint64) error {
	const op = "answer.History.Advance"
	h.write.Lock()
	defer h.write.Unlock()
	p, key, err := h.cursor(space, cursor)
	if err != nil {
		return fault.Wrap(op, err)
	}
	if upto > p.next {
		return fault.New(fault.Conflict, op, "the cursor is beyond the last record")
	}
	return fault.Wrap(op, h.db.Update(func(tx *kv.Tx) error {
		at, err := readNumber(tx, key)
		if err != nil || at >= upto {
			return err
		}
		if err := putNumber(tx, historyKey('n', space), p.next); err != nil {
			return err
		}
		return putNumber(tx, key, upto)
	}))
}

// Latest returns when the latest question of a space was asked; the zero time if there is
// none.
func (h *History) Latest(space string) (asked time.Time, err error) {
	const op = "answer.History.Latest"
	h.write.Lock()
	defer h.write.Unlock()
	p, err := h.past(space)
	if err != nil {
		return asked, fault.Wrap(op, err)
	}
	if pending := h.pending(p); len(pending) > 0 {
		return pending[len(pending)-1].Asked, nil
	}
	err = h.db.View(func(tx *kv.Tx) error {
		for _, k := range slices.Backward(p.keys) {
			r, whole, err := readRecord(tx, k)
			if whole || err != nil { // if it is damaged, the one before it counts
				asked = r.Asked
				return err
			}
		}
		return nil
	})
	return asked, fault.Wrap(op, err)
}

// cursor finds a space's history, and the key of a cursor in it.
func (h *History) cursor(space, name string) (*past, []byte, error) {
	if name == "" || len(name) > cursorName {
		return nil, nil, fault.New(fault.Invalid, "answer.History", "a cursor's name has 1 to %d bytes", cursorName)
	}
	p, err := h.past(space)
	return p, append(historyKey('c', space), name...), err
}

// past finds a space's history; the first time it reads the keys on disk. The caller holds
// write.
func (h *History) past(space string) (*past, error) {
	p := h.of(space)
	if p.loaded {
		return p, nil
	}
	var keys [][]byte
	var last uint64
	prefix := historyKey('q', space)
	err := h.db.View(func(tx *kv.Tx) error {
		if err := tx.Keys(prefix, func(k []byte, _ int64) error {
			if len(k) == len(prefix)+8 {
				keys = append(keys, slices.Clone(k))
				last = number(k) + 1
			}
			return nil
		}); err != nil {
			return err
		}
		next, err := readNumber(tx, historyKey('n', space))
		if err != nil {
			return err
		}
		last = max(last, next)
		return tx.Scan(historyKey('c', space), func(k, v []byte, _ error) error {
			last = max(last, decodeNumber(k, v))
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	p.keys, p.next, p.loaded = keys, last, true
	return p, nil
}

const (
	// How many records one transaction writes, and how many it removes: its size is
	// limited.
	historyPart = 100
	historyTrim = 1000
)

// save writes the pending records and removes those beyond the limit. The caller holds
// write. If a write fails, its records are pending again.
func (h *History) save(space string, p *past) error {
	pending := h.take(p)
	if len(pending) == 0 {
		return nil // do not trim: a reader may not know the daemon's limit
	}
	for len(pending) > 0 {
		part := pending[:min(historyPart, len(pending))]
		if err := h.store(space, p, part); err != nil {
			h.giveBack(p, pending)
			return err
		}
		pending = pending[len(part):]
	}
	return h.trim(p)
}

// trim removes the oldest records beyond the limit: many, if the limit was lowered.
func (h *History) trim(p *past) error {
	for len(p.keys) > h.limit {
		n := min(historyTrim, len(p.keys)-h.limit)
		if err := h.remove(p.keys[:n]); err != nil {
			return err
		}
		p.keys = p.keys[n:]
	}
	return nil
}

// store writes records, and removes as many of the oldest to make room.
func (h *History) store(space string, p *past, rs []Record) error {
	prefix := historyKey('q', space)
	keys, next := slices.Clone(p.keys), p.next
	err := h.db.Update(func(tx *kv.Tx) error {
		for _, r := range rs {
			k := binary.BigEndian.AppendUint64(slices.Clone(prefix), next)
			if err := putRecord(tx, k, r); err != nil {
				return err
			}
			keys, next = append(keys, k), next+1
		}
		if err := putNumber(tx, historyKey('n', space), next); err != nil {
			return err
		}
		for i := 0; i < len(rs) && len(keys) > h.limit; i++ {
			if err := tx.Delete(keys[0]); err != nil {
				return err
			}
			keys = keys[1:]
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.keys, p.next = keys, next
	return nil
}

func putRecord(tx *kv.Tx, key []byte, r Record) error {
	v, err := json.Marshal(r)
	if err != nil {
		return fault.New(fault.Internal, "answer.History", "%w", err)
	}
	return tx.Set(key, append([]byte{historyVersion}, v...))
}

func historyKey(kind byte, space string) []byte {
	id := kv.NewSpaceID(space)
	return append([]byte{'H', kind}, id[:]...)
}

// number returns the number in a record's key.
func number(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

func encodeNumber(key []byte, n uint64) []byte {
	b := binary.BigEndian.AppendUint64([]byte{historyVersion}, n)
	return binary.BigEndian.AppendUint32(b, sumOf(key, b))
}

func putNumber(tx *kv.Tx, key []byte, n uint64) error { return tx.Set(key, encodeNumber(key, n)) }

// readNumber returns 0 for a number that is missing or damaged.
func readNumber(tx *kv.Tx, key []byte) (uint64, error) {
	b, err := tx.Get(key)
	if fault.KindOf(err) == fault.NotFound || errors.Is(err, kv.ErrDamaged) {
		return 0, nil
	}
	return decodeNumber(key, b), err
}

func decodeNumber(key, b []byte) uint64 {
	if len(b) != 1+8+4 || b[0] != historyVersion || sumOf(key, b[:9]) != binary.BigEndian.Uint32(b[9:]) {
		return 0
	}
	return binary.BigEndian.Uint64(b[1:])
}

func sumOf(key, b []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(key, table), table, b)
}

// readRecord says whether a record can be read. The error is the database's own.
func readRecord(tx *kv.Tx, key []byte) (r Record, whole bool, err error) {
	b, err := tx.Get(key)
	if errors.Is(err, kv.ErrDamaged) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	r, err = decodeRecord(b)
	return r, err == nil, nil
}

func decodeRecord(b []byte) (Record, error) {
	const op = "answer.History"
	if len(b) == 0 || b[0] != historyVersion {
		return Record{}, fault.New(fault.Internal, op, "a record has an unknown format")
	}
	var r Record
	if err := json.Unmarshal(b[1:], &r); err != nil {
		return Record{}, fault.New(fault.Internal, op, "a record is damaged")
	}
	return r, nil
}
