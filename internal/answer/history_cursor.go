package answer

import (
	"cmp"
	"slices"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// cursorName is how many bytes the name of a cursor may have.
const cursorName = 64

// Since gives the records behind a cursor, oldest first and at most n, and how far
// the cursor is to be moved when they are done with: see Advance. What Add left
// for later is written first, as only records on disk have numbers. What cannot
// be read is passed over. A cursor that nobody has moved stands before all.
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

// Has says whether the record of a number is still there.
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

// Advance moves a cursor to where Since said, but never back. It is durable when
// Advance returns. Conflict: the space was dropped since then.
func (h *History) Advance(space, cursor string, upto uint64) error {
	const op = "answer.History.Advance"
	h.write.Lock()
	defer h.write.Unlock()
	p, key, err := h.cursor(space, cursor)
	if err != nil {
		return fault.Wrap(op, err)
	}
	if upto > p.next {
		return fault.New(fault.Conflict, op, "the cursor would stand behind records that are to come")
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

// Latest tells when the latest question of a space was asked; the zero time if
// there is none.
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
			if whole || err != nil { // or it is the one before that counts
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
