package qkvtree

import (
	"bytes"
	"cmp"
)

// share is one space's part of the tree. Its limit counts what the tree's does,
// for this space's slices. So that they grow old among themselves, it has a clock
// of its own, which is never behind the tree's: what makes room here must not age
// the slices of other spaces.
type share struct {
	bytes int64
	limit int64 // negative: none
	clock uint64
}

// share finds a space's part, or makes it.
func (f *forest) share(space string) *share {
	s := f.shares[space]
	if s == nil {
		s = &share{limit: -1}
		f.shares[space] = s
	}
	return s
}

// over is by how many bytes a space would be above its own limit with so many
// more; it may be negative.
func (s *share) over(need int64) int64 {
	if s == nil || s.limit < 0 {
		return -1
	}
	return s.bytes + need - s.limit
}

// clockIn is the clock that a space's slices are held against for its own limit.
func (f *forest) clockIn(space string) uint64 {
	if s := f.shares[space]; s != nil {
		return max(f.clock, s.clock)
	}
	return f.clock
}

// victimIn is victim among the slices of one space, by their worth there.
func (f *forest) victimIn(space string, keep map[*node]bool) *node {
	var best, pinned *node
	for n := range f.ends(space, keep) {
		switch {
		case !n.root() || !f.current(n):
			if best == nil || beforeIn(n, best) {
				best = n
			}
		case pinned == nil || beforeIn(n, pinned):
			pinned = n
		}
	}
	if best != nil {
		return best
	}
	return pinned
}

// idleVictimIn is idleVictim among the slices of one space.
func (f *forest) idleVictimIn(space string, keep map[*node]bool) *node {
	var best *node
	for n := range f.ends(space, keep) {
		if !n.root() && n.local <= f.clockIn(space) && (best == nil || beforeIn(n, best)) {
			best = n
		}
	}
	return best
}

// yieldsIn is yields for idleVictimIn.
func (f *forest) yieldsIn(space string, keep map[*node]bool) int64 {
	clock := f.clockIn(space)
	return f.yieldsOf(
		func(g *group) bool { return g.id.space == space },
		func(n *node) bool { return !n.root() && !keep[n] && n.local <= clock },
	)
}

// ends yields the nodes of a space that nothing stands behind, outside of keep.
func (f *forest) ends(space string, keep map[*node]bool) func(yield func(*node) bool) {
	return func(yield func(*node) bool) {
		for _, g := range f.groups {
			if g.id.space != space {
				continue
			}
			for _, n := range g.nodes {
				if n.kids == 0 && !keep[n] && !yield(n) {
					return
				}
			}
		}
	}
}

// beforeIn orders nodes of one space by their worth there, least first.
func beforeIn(a, b *node) bool {
	return cmp.Or(
		cmp.Compare(a.local, b.local), cmp.Compare(a.tick, b.tick),
		bytes.Compare(a.path[:], b.path[:]), bytes.Compare(a.group.prefix[:], b.group.prefix[:]),
	) < 0
}
