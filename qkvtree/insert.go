package qkvtree

import (
	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
)

// Insert stores the slices of a request's segments, one for each; nil where
// there is none. What is stored already stays as it is. Under sequential
// placement a slice whose parent is not stored is not kept.
//
// It makes room by evicting what is worth least, but nothing of the request
// itself. What finds no room is not stored, and that is no error. Unavailable
// says that the disk is full or does not work: no slice is half stored then.
// Insert keeps nothing of the slices.
func (t *Tree) Insert(r Request, slices []*percached.Slice) error {
	const op = "qkvtree.Insert"
	ps, err := r.places(op)
	if err != nil {
		return err
	}
	if len(slices) != len(ps) {
		return fault.New(fault.Invalid, op, "%d slices for %d segments", len(slices), len(ps))
	}
	headers := make([]*header, len(ps))
	for i, s := range slices {
		if s == nil {
			continue
		}
		if headers[i], err = head(r.group(), ps[i], s); err != nil {
			return fault.New(fault.Invalid, op, "segment %d: %w", i, err)
		}
	}
	if err := t.begin(op); err != nil {
		return err
	}
	defer t.writing.Unlock()
	if err := t.insert(r, ps, headers, slices); err != nil {
		return fault.Wrap(op, err)
	}
	t.flushIfDue()
	return nil
}

func (t *Tree) insert(r Request, ps []place, headers []*header, slices []*percached.Slice) error {
	t.mu.Lock()
	t.f.tick++
	keep := map[*node]bool{}
	for _, p := range ps {
		if n := t.f.find(r.group(), p.path); n != nil {
			keep[n] = true
		}
	}
	t.mu.Unlock()
	for i, h := range headers {
		t.mu.Lock()
		n := t.f.find(r.group(), ps[i].path) // may be one of this request's own
		t.mu.Unlock()
		if n == nil && h != nil {
			var err error
			if n, err = t.add(r.group(), h, slices[i], keep); err != nil {
				return err
			}
			if n != nil {
				keep[n] = true
			}
		}
		if n == nil && r.Placement == percached.Sequential {
			break // nothing can stand behind it
		}
	}
	return nil
}

// add stores one slice. Nil: there is no room.
func (t *Tree) add(id groupID, h *header, s *percached.Slice, keep map[*node]bool) (*node, error) {
	t.mu.Lock()
	n := newNode(t.f.group(id), h)
	fits, limit := t.fits(n.bytes, keep), t.limit
	t.mu.Unlock()
	if fits {
		err := t.evict(n.bytes, keep)
		if err == nil {
			fits, err = t.space.admit(n.bytes, limit)
		}
		if err != nil {
			return nil, err
		}
	}
	t.mu.Lock()
	t.stats.moved = t.space.moved
	if !fits {
		t.stats.refused++
		t.mu.Unlock()
		return nil, nil
	}
	n.counters = counters{hits: 1, priority: 1 + t.f.clock, tick: t.f.tick, used: t.o.Now().Unix()}
	t.mu.Unlock()
	err := t.store.put(n.group.prefix, h, s, n.counters)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	t.f.add(n)
	t.stats.stored++
	t.stats.written += n.bytes
	return n, nil
}
