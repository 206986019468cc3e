package qkvtree

import (
	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// Forget removes every slice of a space that depends on one of these chunks,
// whatever its model and placement: the chunks' own and, under sequential
// placement, all behind them. It says how many went, and their bytes. The
// bytes stay in the database's files until that is rewritten: see Compact.
//
// An answer that was being computed meanwhile can bring them back: who forgets
// keeps such answers from being inserted.
func (t *Tree) Forget(space string, chunks []percached.ChunkID) (n int, bytes int64, err error) {
	named := map[percached.ChunkID]bool{}
	for _, c := range chunks {
		named[c] = c != percached.ChunkID{} // which is no chunk
	}
	return t.clear("qkvtree.Forget", func(o *node) bool { return o.group.id.space == space && named[o.chunk] })
}

// Clear removes all slices of a space.
func (t *Tree) Clear(space string) (n int, bytes int64, err error) {
	return t.clear("qkvtree.Clear", func(o *node) bool { return o.group.id.space == space })
}

// ClearAll removes all slices.
func (t *Tree) ClearAll() (n int, bytes int64, err error) {
	return t.clear("qkvtree.ClearAll", func(*node) bool { return true })
}

// clear removes the nodes that take says to take, and what depends on them.
func (t *Tree) clear(op string, take func(*node) bool) (n int, bytes int64, err error) {
	if err := t.begin(op); err != nil {
		return 0, 0, err
	}
	defer t.writing.Unlock()
	t.mu.Lock()
	var gone []*node
	for _, g := range t.f.groups {
		gone = append(gone, t.f.below(g, take)...)
	}
	t.mu.Unlock()
	for _, o := range gone {
		if _, err := t.remove(o); err != nil {
			return n, bytes, fault.Wrap(op, err)
		}
		n++
		bytes += o.bytes
	}
	return n, bytes, nil
}
