package qkvtree

import (
	"errors"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// Insert stores the slices of a request's segments, one for each segment, nil where there
// is none. Slices already stored stay unchanged, except that an exact slice replaces a
// packed one; an idle request does so only for a slice that was used more than once. Under sequential placement a slice is
// skipped if its parent is not stored.
//
// Insert makes room by evicting the least valuable slices, but none of this request. A
// slice without room is skipped; that is not an error. Unavailable means that the disk is
// full or broken; the slice is then not stored at all. Insert does not keep the slices.
//
// Storing counts as a slice's first use, except in an idle request: its slices have no
// use until somebody asks for them or inserts them again. For an idle request only slices
// of no higher value are evicted, and no system segment; if that does not free enough,
// nothing is evicted.
func (t *Tree) Insert(r Request, slices []*percached.Slice) error {
	const op = "qkvtree.Insert"
	ps, err := r.positions(op)
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
		if headers[i], err = newHeader(r.group(), ps[i], s, t.o.Now()); err != nil {
			return fault.New(fault.Invalid, op, "segment %d: %w", i, err)
		}
	}
	if err := t.begin(op); err != nil {
		return err
	}
	defer t.writing.Unlock()
	_ = t.evictOverdue() // Flush reports it
	stored, bytes, err := t.insert(r, ps, headers, slices)
	if fn := t.o.Observer.Stored; fn != nil && stored > 0 {
		fn(stored, bytes)
	}
	if err != nil {
		return fault.Wrap(op, err)
	}
	t.flushIfDue()
	return nil
}

// insert returns how many slices it stored, and their bytes.
func (t *Tree) insert(r Request, ps []position, headers []*header, slices []*percached.Slice) (stored int, bytes int64, err error) {
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
		n := t.f.find(r.group(), ps[i].path) // possibly from this request
		t.mu.Unlock()
		switch {
		case h == nil:
		case n == nil:
			if n, err = t.add(r, h, slices[i], keep); err != nil {
				return stored, bytes, err
			}
			if n != nil {
				keep[n] = true
				stored, bytes = stored+1, bytes+n.bytes
			}
		case n.form != percached.Exact && h.slice.Form == percached.Exact && (!r.Idle || n.hits >= usedOften):
			written, err := t.exchange(n, h, slices[i], keep, r.Idle)
			if err != nil {
				return stored, bytes, err
			}
			bytes += written
		case !r.Idle:
			t.insertedFirst(n)
		}
		if n == nil && r.Placement == percached.Sequential {
			break // its children cannot be stored
		}
	}
	return stored, bytes, nil
}

// insertedFirst counts the first use of a slice that a request computed while idle work
// stored it. A request that found it stored has counted the use in View.
func (t *Tree) insertedFirst(n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n.hits == 0 {
		t.touch(n)
	}
}

// add stores one slice. It returns nil if there is no room.
func (t *Tree) add(r Request, h *header, s *percached.Slice, keep map[*node]bool) (*node, error) {
	t.mu.Lock()
	n := newNode(t.f.group(r.group()), h)
	t.mu.Unlock()
	fits, err := t.makeRoom(r.Space, n.bytes, keep, r.Idle)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.stats.moved = t.space.rewritten
	if !fits {
		t.stats.refused++
		t.mu.Unlock()
		return nil, nil
	}
	n.counters, n.local = counters{priority: t.f.clock, tick: t.f.tick}, t.f.clockIn(r.Space)
	if !r.Idle {
		n.counters = counters{hits: 1, priority: 1 + t.f.clock, tick: t.f.tick, used: t.o.Now().Unix()}
		n.local++
	}
	t.mu.Unlock()
	err = t.store.put(n.group.prefix, h, s, n.counters)
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

// makeRoom makes room for this many bytes within the limits and the files, and reports
// whether there is room. For idle work it checks the files first, so that nothing is
// evicted in vain.
func (t *Tree) makeRoom(space string, need int64, keep map[*node]bool, idle bool) (bool, error) {
	t.mu.Lock()
	fits, limit := t.canFit(space, need, keep, idle), t.limit
	t.mu.Unlock()
	if !fits {
		return false, nil
	}
	if idle {
		if fits, err := t.space.reserve(need, limit); !fits || err != nil {
			return false, err
		}
		return t.evict(space, need, keep, idle)
	}
	if _, err := t.evict(space, need, keep, idle); err != nil {
		return false, err
	}
	return t.space.reserve(need, limit)
}

// touch counts a use of a node; its counters are written later. The caller holds mu.
func (t *Tree) touch(n *node) {
	t.f.touch(n, t.o.Now())
	t.changed[n] = true
}

// Flush writes changed counters, and tries again an eviction to a lowered limit that failed.
func (t *Tree) Flush() error {
	const op = "qkvtree.Flush"
	if err := t.begin(op); err != nil {
		return err
	}
	defer t.writing.Unlock()
	return fault.Wrap(op, errors.Join(t.evictOverdue(), t.flush()))
}

// flushIfDue limits the number of unwritten counters. The caller holds writing. A failure
// fails no request; Flush will report it.
func (t *Tree) flushIfDue() {
	t.mu.Lock()
	due := len(t.changed) >= t.o.FlushEvery
	t.mu.Unlock()
	if due {
		_ = t.flush()
	}
}

func (t *Tree) flush() error {
	t.mu.Lock()
	changed := t.changed
	age := t.f.age
	if len(changed) == 0 && age == t.written {
		t.mu.Unlock()
		return nil
	}
	t.changed = map[*node]bool{}
	records := make([][2][]byte, 0, len(changed)+1)
	for n := range changed {
		k := nodeKey(counterKind, n.group.prefix, n.path)
		records = append(records, [2][]byte{k, n.counters.encode(k)})
	}
	k := []byte{ageKind}
	records = append(records, [2][]byte{k, age.encode(k)})
	t.mu.Unlock()
	err := t.store.set(records)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		for n := range changed {
			if n.group.nodes[n.path] == n {
				t.changed[n] = true
			}
		}
		return err
	}
	t.written = age
	t.stats.flushes++
	for _, r := range records {
		t.stats.written += int64(len(r[0]) + len(r[1]))
	}
	return nil
}
