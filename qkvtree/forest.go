package qkvtree

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/percached/percached"
)

// forest holds all nodes in memory and their order of eviction. It does no I/O.
//
// The order is LFU with dynamic ageing: a node's priority is its hits plus the clock at
// its last use, and the clock is the priority of the last evicted node. So formerly
// popular slices fall behind currently used ones. A new node ranks just above the last
// evicted one: it always finds room, and is evicted first if nobody asks for it. A slice
// from idle work has no hits and ranks with the last evicted one, below every slice used
// since.
type forest struct {
	age
	groups map[groupID]*modelGroup
	leaves leaves
	roots  map[*node]struct{}
	count  int
	bytes  int64
	shares map[string]*spaceShare // by space
	hot    hotSlices
}

func newForest() *forest {
	return &forest{
		groups: map[groupID]*modelGroup{}, roots: map[*node]struct{}{}, shares: map[string]*spaceShare{},
		hot: hotSlices{copies: map[*node]*percached.Slice{}},
	}
}

// group returns a group and creates it if necessary; add registers it.
func (f *forest) group(id groupID) *modelGroup {
	if g := f.groups[id]; g != nil {
		return g
	}
	return &modelGroup{id: id, prefix: id.prefix(), nodes: map[percached.Path]*node{}}
}

// newest is the highest tick of any node.
func (f *forest) newest() uint64 {
	var tick uint64
	for _, g := range f.groups {
		for _, n := range g.nodes {
			tick = max(tick, n.tick)
		}
	}
	return tick
}

// find returns nil if the slice is not stored.
func (f *forest) find(id groupID, p percached.Path) *node {
	if g := f.groups[id]; g != nil {
		return g.nodes[p]
	}
	return nil
}

// add inserts a node.
func (f *forest) add(n *node) {
	g := n.group
	f.groups[g.id] = g
	g.nodes[n.path] = n
	f.count++
	f.bytes += n.bytes
	f.shareOf(g.id.space).bytes += n.bytes
	if n.root() {
		f.roots[n] = struct{}{}
		if g.id.placement == percached.Parallel { // its branches do not need the root
			for _, k := range g.nodes {
				if k.above == n.path {
					k.parent = n
					n.kids++
				}
			}
		}
		return
	}
	if p := g.nodes[n.above]; p != nil {
		n.parent = p
		p.kids++
		f.leaves.remove(p)
	}
	f.leaves.insert(n)
}

// remove removes a node. Under sequential placement it must have no children.
func (f *forest) remove(n *node) {
	g := n.group
	delete(g.nodes, n.path)
	if len(g.nodes) == 0 {
		delete(f.groups, g.id)
	}
	f.count--
	f.bytes -= n.bytes
	s := f.shareOf(g.id.space)
	if s.bytes -= n.bytes; s.bytes == 0 && s.limit < 0 {
		delete(f.shares, g.id.space)
	}
	delete(f.roots, n)
	f.hot.drop(n)
	f.leaves.remove(n)
	if n.kids > 0 {
		for _, k := range g.nodes {
			if k.parent == n {
				k.parent = nil
			}
		}
	}
	if p := n.parent; p != nil {
		n.parent = nil
		if p.kids--; p.kids == 0 && !p.root() {
			f.leaves.insert(p)
		}
	}
}

// touch counts a use.
func (f *forest) touch(n *node, now time.Time) {
	n.hits++
	n.priority, n.local = n.hits+f.clock, n.hits+f.clockIn(n.group.id.space)
	n.tick, n.used = f.tick, now.Unix()
	if n.slot >= 0 {
		heap.Fix(&f.leaves, n.slot)
	}
}

// victim is the next node to evict, except keep: the leaf of lowest priority. A system
// segment is chosen last, unless its space now uses another model. Nil: nothing can be
// evicted.
func (f *forest) victim(keep map[*node]bool) *node {
	best := f.leaf(keep)
	var pinned *node
	for n := range f.roots {
		switch {
		case n.kids > 0 || keep[n]:
		case f.isCurrent(n):
			if pinned == nil || before(n, pinned) {
				pinned = n
			}
		case best == nil || before(n, best):
			best = n
		}
	}
	if best != nil {
		return best
	}
	return pinned
}

// leaf is the leaf of lowest priority, except keep.
func (f *forest) leaf(keep map[*node]bool) *node {
	var aside []*node
	for len(f.leaves) > 0 && keep[f.leaves[0]] {
		n := f.leaves[0]
		f.leaves.remove(n)
		aside = append(aside, n)
	}
	var best *node
	if len(f.leaves) > 0 {
		best = f.leaves[0]
	}
	for _, n := range aside {
		f.leaves.insert(n)
	}
	return best
}

// idleVictim is the next node to evict for idle work: like victim, but no system segment
// and nothing used since the last eviction. Such an eviction does not advance the clock.
func (f *forest) idleVictim(keep map[*node]bool) *node {
	if n := f.leaf(keep); n != nil && n.priority <= f.clock {
		return n
	}
	return nil
}

// evictableBytes is how many bytes idleVictim could free in total.
func (f *forest) evictableBytes(keep map[*node]bool) int64 {
	return f.countEvictable(
		func(*modelGroup) bool { return true },
		func(n *node) bool { return !n.root() && !keep[n] && n.priority <= f.clock },
	)
}

// countEvictable counts the bytes of the nodes in some groups that may be evicted
// together with all nodes after them.
func (f *forest) countEvictable(in func(*modelGroup) bool, may func(*node) bool) int64 {
	var yields int64
	stays := map[*node]bool{}
	for _, g := range f.groups {
		if !in(g) {
			continue
		}
		for _, n := range g.nodes {
			yields += n.bytes
			if may(n) {
				continue
			}
			for ; n != nil && !stays[n]; n = n.parent {
				stays[n] = true
			}
		}
	}
	for n := range stays {
		yields -= n.bytes
	}
	return yields
}

// isCurrent reports whether a system segment's model is the one that its space used last.
func (f *forest) isCurrent(n *node) bool {
	for o := range f.roots {
		if o.group.id.space == n.group.id.space && o.group.id.model != n.group.id.model && o.tick > n.tick {
			return false
		}
	}
	return true
}

// subtree lists the nodes selected by take and, under sequential placement, all nodes
// after them, children first.
func (f *forest) subtree(g *modelGroup, take func(*node) bool) []*node {
	depth := map[*node]int{}
	var found []*node
	for _, n := range g.nodes {
		in, d := take(n), 0
		for p := n.parent; p != nil; p = p.parent {
			d++
			in = in || g.id.placement == percached.Sequential && take(p)
		}
		if in {
			depth[n] = d
			found = append(found, n)
		}
	}
	slices.SortFunc(found, func(a, b *node) int {
		return cmp.Or(cmp.Compare(depth[b], depth[a]), bytes.Compare(a.path[:], b.path[:]))
	})
	return found
}

// before sorts nodes by value, lowest first. No two are equal.
func before(a, b *node) bool {
	return cmp.Or(
		cmp.Compare(a.priority, b.priority), cmp.Compare(a.tick, b.tick),
		bytes.Compare(a.path[:], b.path[:]), bytes.Compare(a.group.prefix[:], b.group.prefix[:]),
	) < 0
}

// leaves is a heap of the evictable nodes, lowest value on top.
type leaves []*node

func (l leaves) Len() int           { return len(l) }
func (l leaves) Less(i, j int) bool { return before(l[i], l[j]) }

func (l leaves) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].slot, l[j].slot = i, j
}

// Push implements heap.Interface.
func (l *leaves) Push(x any) {
	n := x.(*node)
	n.slot = len(*l)
	*l = append(*l, n)
}

// Pop implements heap.Interface.
func (l *leaves) Pop() any {
	old := *l
	n := old[len(old)-1]
	old[len(old)-1] = nil
	*l = old[:len(old)-1]
	n.slot = -1
	return n
}

func (l *leaves) insert(n *node) {
	if n.slot < 0 {
		heap.Push(l, n)
	}
}

func (l *leaves) remove(n *node) {
	if n.slot >= 0 {
		heap.Remove(l, n.slot)
	}
}

// node is a stored slice without its bytes.
type node struct {
	counters
	group    *modelGroup
	path     percached.Path
	above    percached.Path // zero for a root
	parent   *node          // nil for a root and while the parent is not stored
	chunk    percached.ChunkID
	tokens   int
	pieces   int
	planes   percached.Planes
	form     percached.Form
	bytes    int64  // of all its records, including keys
	smallest bool   // the next form is not smaller; not on disk
	turn     bool   // of a conversation: it expires
	made     int64  // Unix seconds; only of a turn
	local    uint64 // priority within its space; not on disk
	kids     int    // number of stored children
	slot     int    // index in the heap of leaves; -1: not in it
}

// modelGroup holds the nodes that one prompt can combine.
type modelGroup struct {
	id     groupID
	prefix [groupSize]byte
	nodes  map[percached.Path]*node
}

func (n *node) root() bool { return n.above == percached.Path{} }

// Info describes a stored slice.
type Info struct {
	Space     string
	Model     string
	Placement percached.Placement
	Path      percached.Path
	Chunk     percached.ChunkID // zero for a system segment
	Depth     int               // 0 for a system segment
	Tokens    int
	Bytes     int64
	Planes    percached.Planes
	Form      percached.Form
	Hits      uint64    // uses since it was stored, including the first; 0: stored by idle work
	Priority  uint64    // order of eviction, lowest first
	Used      time.Time // zero: never used
}

func (n *node) info() Info {
	depth := 0
	if !n.root() {
		depth = 1
	}
	for p := n.parent; p != nil && !p.root(); p = p.parent {
		depth++
	}
	return Info{
		Space: n.group.id.space, Model: n.group.id.model, Placement: n.group.id.placement, Path: n.path, Chunk: n.chunk,
		Depth: depth, Tokens: n.tokens, Bytes: n.bytes, Planes: n.planes, Form: n.form, Hits: n.hits, Priority: n.priority, Used: usedTime(n.used),
	}
}

// usedTime converts the time of a use from its counters.
func usedTime(used int64) time.Time {
	if used == 0 {
		return time.Time{}
	}
	return time.Unix(used, 0).UTC()
}

// newNode creates a node from its header.
func newNode(g *modelGroup, h *header) *node {
	n := &node{
		group: g, path: h.slice.Path, above: h.parent, chunk: h.chunk, tokens: len(h.slice.Tokens),
		pieces: len(h.sizes), planes: h.slice.Planes, form: h.slice.Form, bytes: h.recordBytes(), slot: -1, turn: h.turn, made: h.made,
	}
	return n
}

// recordBytes is the size of all records of a slice, including keys.
func (h *header) recordBytes() int64 {
	n := int64(nodeSize + h.len() + nodeSize + counterSize)
	for _, s := range h.sizes {
		n += pieceSize + int64(s.kv) + int64(s.q)
	}
	return n
}
