package answer

import (
	"slices"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Older counts the records of a space that were asked before a time. A record that cannot
// be read counts, because its time is unknown.
func (h *History) Older(space string, before time.Time) (int, error) {
	h.write.Lock()
	defer h.write.Unlock()
	p, err := h.past(space)
	if err != nil {
		return 0, fault.Wrap("answer.History.Older", err)
	}
	old, _, err := h.older(p, before)
	for _, r := range h.pending(p) {
		if r.Asked.Before(before) {
			old = append(old, nil)
		}
	}
	return len(old), fault.Wrap("answer.History.Older", err)
}

// Expire removes what Older counts.
func (h *History) Expire(space string, before time.Time) (int, error) {
	const op = "answer.History.Expire"
	h.write.Lock()
	defer h.write.Unlock()
	p, err := h.past(space)
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	h.mu.Lock()
	n := len(p.pending)
	p.pending = slices.DeleteFunc(p.pending, func(r Record) bool { return r.Asked.Before(before) })
	n -= len(p.pending)
	h.mu.Unlock()
	old, kept, err := h.older(p, before)
	if err == nil {
		err = h.remove(old)
	}
	if err != nil {
		return n, fault.Wrap(op, err)
	}
	p.keys = kept
	return n + len(old), nil
}

// older separates the records on disk. The caller holds write.
func (h *History) older(p *past, before time.Time) (old, kept [][]byte, err error) {
	err = h.db.View(func(tx *kv.Tx) error {
		for _, k := range p.keys {
			r, whole, err := readRecord(tx, k)
			if err != nil {
				return err
			}
			if !whole || r.Asked.Before(before) {
				old = append(old, k)
			} else {
				kept = append(kept, k)
			}
		}
		return nil
	})
	return old, kept, err
}
