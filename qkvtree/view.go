package qkvtree

import (
	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

func (r *Request) group() groupID {
	return groupID{space: r.Space, model: r.Model, placement: r.Placement}
}

// View lends what is stored of a request until fn returns: one slice for each
// segment, nil where there is none. Under sequential placement that is the
// longest stored beginning. The tensors lie in the database's memory: fn must
// neither keep nor change them. The tree may be called inside fn, but for
// Compact. An idle request counts as nobody's: neither as a use of the slices
// nor in Stats, but for what is damaged.
//
// A slice that cannot be read as it was written is dropped, and under
// sequential placement all that is behind it; it then counts as not stored. An
// error is fn's own, or says that the database cannot be used: then fn was not
// called.
func (t *Tree) View(r Request, fn func(slices []*percached.Slice, m Match) error) error {
	const op = "qkvtree.View"
	ps, err := r.positions(op)
	if err != nil {
		return err
	}
	if t.isClosed() {
		return closed(op)
	}
	ran := false
	err = t.store.db.View(func(tx *kv.Tx) error {
		found, m, err := t.viewPath(tx, r, ps)
		if err != nil {
			return err
		}
		ran = true
		return fn(found, m)
	})
	if !ran {
		return fault.Wrap(op, err)
	}
	if t.writing.TryLock() { // who holds it will flush
		t.flushIfDue()
		t.writing.Unlock()
	}
	return err
}

func (t *Tree) viewPath(tx *kv.Tx, r Request, ps []position) ([]*percached.Slice, Match, error) {
	t.mu.Lock()
	nodes := t.match(r, ps)
	t.mu.Unlock()
	lent := make([]*percached.Slice, len(ps))
	var m Match
	for i, n := range nodes {
		if n == nil {
			continue
		}
		s, _, err := t.store.view(tx, n.group.id, n.group.prefix, n.path)
		if isLossError(err) {
			if t.dropUnreadable(n) > 0 {
				m.Damaged++
			}
			if r.Placement == percached.Sequential {
				break
			}
			continue
		}
		if err != nil {
			return nil, m, err
		}
		lent[i] = s
		m.Segments++
		m.Tokens += len(s.Tokens)
		m.Bytes += s.Bytes()
	}
	t.recordUse(nodes, lent, m, r.Idle)
	return lent, m, nil
}

// used counts a request.
func (t *Tree) recordUse(nodes []*node, lent []*percached.Slice, m Match, idle bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.damaged += uint64(m.Damaged)
	if idle {
		return
	}
	t.f.tick++
	t.stats.requests++
	t.stats.hits += uint64(m.Segments)
	t.stats.absent += uint64(len(lent) - m.Segments - m.Damaged)
	for i, s := range lent {
		if n := nodes[i]; s != nil && n.group.nodes[n.path] == n { // not gone meanwhile
			t.touch(n)
		}
	}
}

// drop removes a slice that could not be lent, and what needs it. It may have
// been stored, evicted or stored anew since that was tried, so it looks once
// more; it says how many slices went.
func (t *Tree) dropUnreadable(n *node) int {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	there := n.group.nodes[n.path] == n
	t.mu.Unlock()
	if !there {
		return 0
	}
	err := t.store.db.View(func(tx *kv.Tx) error {
		_, _, err := t.store.view(tx, n.group.id, n.group.prefix, n.path)
		return err
	})
	if !isLossError(err) {
		return 0
	}
	return t.discardSubtree(n, err)
}

// discard removes a damaged slice and what needs it, at least from memory: what
// cannot be deleted now goes at the next Open. It says how many went.
func (t *Tree) discardSubtree(n *node, cause error) int {
	t.mu.Lock()
	gone := t.f.subtree(n.group, func(o *node) bool { return o == n })
	t.mu.Unlock()
	for _, g := range gone {
		_ = t.store.remove(g.group.prefix, g.path)
		t.mu.Lock()
		info := g.info()
		t.f.remove(g)
		delete(t.changed, g)
		t.stats.dropped++
		t.mu.Unlock()
		if fn := t.o.Observer.Dropped; fn != nil {
			why := cause
			if g != n {
				why = &SliceError{Path: g.path, Err: ErrOrphan}
			}
			fn(info, why)
		}
	}
	return len(gone)
}
