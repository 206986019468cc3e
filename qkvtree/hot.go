package qkvtree

import (
	"cmp"
	"maps"
	"slices"

	"github.com/percached/percached"
)

// hotSlices are copies of the latest lent slices in memory, already decrypted and checked.
// The caller of each method holds Tree.mu. A copy never changes, so that it stays valid for
// a View that still lends it after it was dropped.
type hotSlices struct {
	limit, bytes int64
	copies       map[*node]*percached.Slice
}

// of returns the copy for each node, nil where there is none.
func (h *hotSlices) of(nodes []*node) []*percached.Slice {
	copies := make([]*percached.Slice, len(nodes))
	for i, n := range nodes {
		copies[i] = h.copies[n]
	}
	return copies
}

// admits reports whether a slice of a node would find room beside slices of the same or a
// later request.
func (h *hotSlices) admits(n *node, s *percached.Slice) bool {
	if h.copies[n] != nil || n.group.nodes[n.path] != n || n.form != s.Form {
		return false
	}
	room := h.limit
	for o, c := range h.copies {
		if o.tick >= n.tick {
			room -= c.Bytes()
		}
	}
	return s.Bytes() <= room
}

// put keeps a copy in place of those that were used longest ago.
func (h *hotSlices) put(n *node, c *percached.Slice) {
	h.shrink(h.limit - c.Bytes())
	h.copies[n] = c
	h.bytes += c.Bytes()
}

// shrink drops the copies that were used longest ago until the rest fits.
func (h *hotSlices) shrink(limit int64) {
	if h.bytes <= limit {
		return
	}
	for _, n := range slices.SortedFunc(maps.Keys(h.copies), func(a, b *node) int { return cmp.Compare(a.tick, b.tick) }) {
		if h.drop(n); h.bytes <= limit {
			return
		}
	}
}

// drop forgets the copy of a node, if there is one.
func (h *hotSlices) drop(n *node) {
	if c := h.copies[n]; c != nil {
		h.bytes -= c.Bytes()
		delete(h.copies, n)
	}
}

// SetHotLimit sets the maximum bytes of slices that are kept in memory; 0: none. View lends
// these without reading, checking or decrypting anything. The limit takes effect at once, but
// slices that are lent stay in memory until their View ends.
func (t *Tree) SetHotLimit(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.f.hot.limit = max(0, n)
	t.f.hot.shrink(t.f.hot.limit)
}

// Hot returns the size of the slices that are kept in memory, and how many were lent from there
// since Open.
func (t *Tree) Hot() (bytes int64, lent uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.f.hot.bytes, t.stats.hot
}

// keepHot keeps copies of lent slices in memory, unless they were deleted or packed
// meanwhile.
func (t *Tree) keepHot(nodes []*node, lent []*percached.Slice) {
	for i, s := range lent {
		if s == nil {
			continue
		}
		t.mu.Lock()
		admits := t.f.hot.admits(nodes[i], s)
		t.mu.Unlock()
		if !admits {
			continue
		}
		c := copySlice(s)
		t.mu.Lock()
		if c != nil && t.f.hot.admits(nodes[i], c) {
			t.f.hot.put(nodes[i], c)
		}
		t.mu.Unlock()
	}
}

// copySlice returns nil if a copied piece does not match its checksum: the system may have
// read it from disk again since it was checked.
func copySlice(s *percached.Slice) *percached.Slice {
	c := *s
	c.Pieces = slices.Clone(s.Pieces)
	for i := range c.Pieces {
		p := &c.Pieces[i]
		p.KV, p.Q = slices.Clone(p.KV), slices.Clone(p.Q)
		if p.Checksum() != p.Sum {
			return nil
		}
	}
	return &c
}
