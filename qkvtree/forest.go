package qkvtree

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/percached/percached"
)

// forest is all nodes in memory and the order in which they make room. It does
// no I/O.
//
// The order is LFU with dynamic ageing: a node's priority is its hits plus the
// clock at its last use, and the clock is the priority of the last node
// evicted. So what was hot long ago falls behind what is used now, and a new
// node stands just above the last one that went: it can always come in, and
// goes first if nobody asks for it. What idle work stored has no hits, and so
// stands no higher than the last one that went: any use of a slice since then is
// worth more.
type forest struct {
	age
	groups map[groupID]*modelGroup
	leaves leaves
	roots  map[*node]struct{}
	count  int
	bytes  int64
	shares map[string]*spaceShare // by space
}

func newForest() *forest {
	return &forest{groups: map[groupID]*modelGroup{}, roots: map[*node]struct{}{}, shares: map[string]*spaceShare{}}
}

// group finds a group, or makes it; add enters it.
func (f *forest) group(id groupID) *modelGroup {
	if g := f.groups[id]; g != nil {
		return g
	}
	return &modelGroup{id: id, prefix: id.prefix(), nodes: map[percached.Path]*node{}}
}

// newest is the highest tick of a node.
func (f *forest) newest() uint64 {
	var tick uint64
	for _, g := range f.groups {
		for _, n := range g.nodes {
			tick = max(tick, n.tick)
		}
	}
	return tick
}

// find gives nil for what is not stored.
func (f *forest) find(id groupID, p percached.Path) *node {
	if g := f.groups[id]; g != nil {
		return g.nodes[p]
	}
	return nil
}

// add puts a node where it belongs.
func (f *forest) add(n *node) {
	g := n.group
	f.groups[g.id] = g
	g.nodes[n.path] = n
	f.count++
	f.bytes += n.bytes
	f.shareOf(g.id.space).bytes += n.bytes
	if n.root() {
		f.roots[n] = struct{}{}
		if g.id.placement == percached.Parallel { // whose branches may do without
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

// remove takes a node out. Under sequential placement nothing may be behind it.
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

// victim is the node that makes room next, outside of keep: the leaf of lowest
// priority. System segments stay while anything else can go, unless their
// model is not the one that their space uses now. Nil: nothing can go.
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

// leaf is the leaf of lowest priority outside of keep.
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

// idleVictim is the node that makes room for idle work next: as victim, but no
// system segment, and nothing that is worth more than what nobody has used.
// What goes like that leaves the clock as it is.
func (f *forest) idleVictim(keep map[*node]bool) *node {
	if n := f.leaf(keep); n != nil && n.priority <= f.clock {
		return n
	}
	return nil
}

// yields is how many bytes would go if idleVictim were asked until it has no
// more.
func (f *forest) evictableBytes(keep map[*node]bool) int64 {
	return f.countEvictable(
		func(*modelGroup) bool { return true },
		func(n *node) bool { return !n.root() && !keep[n] && n.priority <= f.clock },
	)
}

// yieldsOf counts the bytes of the nodes that would go in some groups: a node goes
// if it may, and all behind it go.
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

// current says whether a system segment's model is the one that its space used
// last.
func (f *forest) isCurrent(n *node) bool {
	for o := range f.roots {
		if o.group.id.space == n.group.id.space && o.group.id.model != n.group.id.model && o.tick > n.tick {
			return false
		}
	}
	return true
}

// below gives the nodes that take says to take and all that are behind them
// under sequential placement, each before what it stands behind.
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

// before orders nodes by worth, least first. No two are equal.
func before(a, b *node) bool {
	return cmp.Or(
		cmp.Compare(a.priority, b.priority), cmp.Compare(a.tick, b.tick),
		bytes.Compare(a.path[:], b.path[:]), bytes.Compare(a.group.prefix[:], b.group.prefix[:]),
	) < 0
}

// leaves is a heap of the nodes that may go, least worth on top.
type leaves []*node

func (l leaves) Len() int           { return len(l) }
func (l leaves) Less(i, j int) bool { return before(l[i], l[j]) }

func (l leaves) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].slot, l[j].slot = i, j
}

// Push is for package heap.
func (l *leaves) Push(x any) {
	n := x.(*node)
	n.slot = len(*l)
	*l = append(*l, n)
}

// Pop is for package heap.
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
	group  *modelGroup
	path   percached.Path
	above  percached.Path // zero for a root
	parent *node          // nil for a root, and where it is not stored
	chunk  percached.ChunkID
	tokens int
	pieces int
	planes percached.Planes
	bytes  int64  // of all its records, keys too
	local  uint64 // priority among the slices of its space; not on disk
	kids   int    // stored nodes right behind it
	slot   int    // in the heap of leaves; -1: it is not there
}

// group holds the nodes that can stand in one prompt.
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
	Hits      uint64    // uses since it was stored, that first one among them; 0: idle work stored it
	Priority  uint64    // what eviction goes by: the lowest goes first
	Used      time.Time // zero: nobody has used it
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
		Depth: depth, Tokens: n.tokens, Bytes: n.bytes, Planes: n.planes, Hits: n.hits, Priority: n.priority, Used: usedTime(n.used),
	}
}

// moment reads the time of a use off its counters.
func usedTime(used int64) time.Time {
	if used == 0 {
		return time.Time{}
	}
	return time.Unix(used, 0).UTC()
}

// newNode reads a node off its header.
func newNode(g *modelGroup, h *header) *node {
	n := &node{
		group: g, path: h.slice.Path, above: h.parent, chunk: h.chunk, tokens: len(h.slice.Tokens),
		pieces: len(h.sizes), planes: h.slice.Planes, slot: -1,
	}
	n.bytes = int64(nodeSize + h.len() + nodeSize + counterSize)
	for _, s := range h.sizes {
		n.bytes += pieceSize + int64(s.kv) + int64(s.q)
	}
	return n
}
