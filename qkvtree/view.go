package qkvtree

import (
	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

func (r *Request) group() groupID {
	return groupID{space: r.Space, model: r.Model, placement: r.Placement}
}

// View lends the stored slices of a request until fn returns: one for each segment, nil
// where there is none. Under sequential placement that is the longest stored prefix. The
// tensors are memory of the database or of the tree: fn must neither keep nor change them.
// fn may call the tree, except for Compact. An idle request counts neither as a use of the slices nor
// in Stats, except for damaged slices.
//
// An unreadable slice is dropped and counts as not stored; under sequential placement all
// slices after it are dropped too. An error is fn's own, or means that the database is
// unusable; then fn was not called.
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
		nodes, found, m, err := t.viewPath(tx, r, ps)
		if err != nil {
			return err
		}
		ran = true
		err = fn(found, m)
		if !r.Idle {
			t.keepHot(nodes, found) // after fn: the copies delay no first token, only the end of View
		}
		return err
	})
	if !ran {
		return fault.Wrap(op, err)
	}
	if t.writing.TryLock() { // the holder will flush
		t.flushIfDue()
		t.writing.Unlock()
	}
	return err
}

func (t *Tree) viewPath(tx *kv.Tx, r Request, ps []position) (nodes []*node, lent []*percached.Slice, m Match, err error) {
	t.mu.Lock()
	nodes = t.match(r, ps)
	hot := t.f.hot.of(nodes)
	t.mu.Unlock()
	lent = make([]*percached.Slice, len(ps))
	hits := 0
	for i, n := range nodes {
		if n == nil {
			continue
		}
		s, err := hot[i], error(nil)
		if s != nil {
			hits++
		} else {
			s, _, err = t.store.view(tx, n.group.id, n.group.prefix, n.path)
		}
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
			return nil, nil, m, err
		}
		if s.Form > r.Form { // it is being packed: the database has its new form, the node not yet
			if r.Placement == percached.Sequential {
				break
			}
			continue
		}
		lent[i] = s
		m.Segments++
		m.Tokens += len(s.Tokens)
		m.Bytes += s.Bytes()
	}
	t.recordUse(nodes, lent, m, hits, r.Idle)
	return nodes, lent, m, nil
}

// recordUse counts a request; hot of its slices came from memory.
func (t *Tree) recordUse(nodes []*node, lent []*percached.Slice, m Match, hot int, idle bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.damaged += uint64(m.Damaged)
	if idle {
		return
	}
	t.f.tick++
	t.stats.requests++
	t.stats.hits += uint64(m.Segments)
	t.stats.hot += uint64(hot)
	t.stats.absent += uint64(len(lent) - m.Segments - m.Damaged)
	for i, s := range lent {
		if n := nodes[i]; s != nil && n.group.nodes[n.path] == n { // unless deleted meanwhile
			t.touch(n)
		}
	}
}

// dropUnreadable deletes an unreadable slice and all that depend on it. It checks the
// slice again, because it may have been stored or evicted meanwhile. It returns the
// number of deleted slices.
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

// discardSubtree deletes a damaged slice and all that depend on it, at least from memory:
// the next Open deletes what cannot be deleted now. It returns the number of deleted
// slices.
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
