package qkvtree_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/qkvtree"
)

// naive is the tree written without regard to speed or disks.
type naive struct {
	limit, overhead int64
	clock, tick     uint64
	nodes           map[spot]*entry
	limits          map[string]int64  // of spaces with their own limit
	clocks          map[string]uint64 // of those
}

func (m *naive) clockIn(space string) uint64 { return max(m.clock, m.clocks[space]) }

// over is by how much a space exceeds its limit with this many more bytes.
func (m *naive) over(space string, need int64) int64 {
	limit, ok := m.limits[space]
	if !ok {
		return -1
	}
	return m.sizeIn(space) + need - limit
}

func (m *naive) sizeIn(space string) (sum int64) {
	for k, e := range m.nodes {
		if k.space == space {
			sum += e.bytes
		}
	}
	return sum
}

// free is what fits before any eviction.
func (m *naive) free(space string) int64 {
	free := m.limit - m.size()
	if limit, ok := m.limits[space]; ok {
		free = min(free, limit-m.sizeIn(space))
	}
	return max(0, free)
}

type spot struct {
	space, model string
	placement    percached.Placement
	path         percached.Path
}

type entry struct {
	above          percached.Path
	chunk          percached.ChunkID
	bytes          int64
	hits, priority uint64
	tick           uint64
	local          uint64 // priority within its space
}

func at(r qkvtree.Request, p percached.Path) spot { return spot{r.Space, r.Model, r.Placement, p} }

func (m *naive) size() (sum int64) {
	for _, e := range m.nodes {
		sum += e.bytes
	}
	return sum
}

func paths(r qkvtree.Request) (own, above []percached.Path) {
	var parent percached.Path
	for i, n := range r.Segments {
		own, above = append(own, parent.Child(n.Tokens)), append(above, parent)
		if i == 0 || r.Placement == percached.Sequential {
			parent = own[i]
		}
	}
	return own, above
}

func (m *naive) insert(r qkvtree.Request, given []*percached.Slice) {
	m.tick++
	own, above := paths(r)
	keep := map[spot]bool{}
	for _, p := range own {
		if m.nodes[at(r, p)] != nil {
			keep[at(r, p)] = true
		}
	}
	for i, p := range own {
		k := at(r, p)
		if e := m.nodes[k]; e != nil {
			if e.hits == 0 && given[i] != nil && !r.Idle {
				e.hits, e.priority, e.tick, e.local = 1, 1+m.clock, m.tick, 1+m.clockIn(r.Space)
			}
			continue
		}
		if given[i] != nil {
			need := given[i].Bytes() + m.overhead
			kept := need
			for o := range keep {
				kept += m.nodes[o].bytes
			}
			switch {
			case r.Idle:
				if m.evictIdle(r.Space, need, keep) {
					m.nodes[k] = &entry{above[i], r.Segments[i].Chunk, need, 0, m.clock, m.tick, m.clockIn(r.Space)}
					keep[k] = true
				}
			case kept <= m.most(r.Space):
				m.evict(r.Space, need, keep)
				m.nodes[k] = &entry{above[i], r.Segments[i].Chunk, need, 1, 1 + m.clock, m.tick, 1 + m.clockIn(r.Space)}
				keep[k] = true
			}
		}
		if m.nodes[k] == nil && r.Placement == percached.Sequential {
			return
		}
	}
}

// most is the maximum size of a space.
func (m *naive) most(space string) int64 {
	if limit, ok := m.limits[space]; ok {
		return min(limit, m.limit)
	}
	return m.limit
}

// evictIdle is evict for idle work: it evicts only what idle work may, or nothing. Each
// limit must be met; evictions for the space's own limit count for the total.
func (m *naive) evictIdle(space string, need int64, keep map[spot]bool) bool {
	over := m.over(space, need)
	own := func(k spot, e *entry) bool { return k.space == space && e.local <= m.clockIn(space) }
	all := func(_ spot, e *entry) bool { return e.priority <= m.clock }
	before := maps.Clone(m.nodes)
	if !m.yield(func() bool { return m.over(space, need) <= 0 }, own, m.localWorst, keep) {
		m.nodes = before
		return false
	}
	after := m.nodes
	m.nodes = maps.Clone(before)
	whole := m.size() + need - m.limit
	fits := whole <= max(0, over) || m.yield(func() bool { return m.size()+need <= m.limit }, all, m.worst, keep)
	m.nodes = before
	if !fits {
		return false
	}
	m.nodes = after
	m.yield(func() bool { return m.size()+need <= m.limit }, all, m.worst, keep)
	return true
}

// yield removes the least valuable candidates until it fits or none is left.
func (m *naive) yield(fits func() bool, may func(spot, *entry) bool, worst func([]spot) spot, keep map[spot]bool) bool {
	for !fits() {
		var free []spot
		for k, e := range m.nodes {
			if m.leaf(k) && !keep[k] && e.above != (percached.Path{}) && may(k, e) {
				free = append(free, k)
			}
		}
		if len(free) == 0 {
			return false
		}
		delete(m.nodes, worst(free))
	}
	return true
}

func (m *naive) leaf(k spot) bool {
	for o, c := range m.nodes {
		o.path = k.path
		if o == k && c.above == k.path {
			return false
		}
	}
	return true
}

func (m *naive) worst(of []spot) spot {
	return m.least(of, func(e *entry) uint64 { return e.priority })
}

func (m *naive) localWorst(of []spot) spot {
	return m.least(of, func(e *entry) uint64 { return e.local })
}

func (m *naive) least(of []spot, worth func(*entry) uint64) spot {
	return slices.MinFunc(of, func(a, b spot) int {
		x, y := m.nodes[a], m.nodes[b]
		return cmp.Or(cmp.Compare(worth(x), worth(y)), cmp.Compare(x.tick, y.tick), bytes.Compare(a.path[:], b.path[:]))
	})
}

func (m *naive) evict(space string, need int64, keep map[spot]bool) {
	for m.over(space, need) > 0 {
		worst, ok := m.next(func(k spot) bool { return k.space == space && !keep[k] }, m.localWorst)
		if !ok {
			return
		}
		m.clocks[space] = max(m.clocks[space], m.nodes[worst].local)
		delete(m.nodes, worst)
	}
	for m.size()+need > m.limit {
		worst, ok := m.next(func(k spot) bool { return !keep[k] }, m.worst)
		if !ok {
			return
		}
		m.clock = max(m.clock, m.nodes[worst].priority)
		delete(m.nodes, worst)
	}
}

// next is the next candidate to evict: system segments last.
func (m *naive) next(may func(spot) bool, worst func([]spot) spot) (spot, bool) {
	var free, pinned []spot
	for k, e := range m.nodes {
		switch {
		case !m.leaf(k) || !may(k):
		case e.above == percached.Path{} && m.current(k):
			pinned = append(pinned, k)
		default:
			free = append(free, k)
		}
	}
	if len(free) == 0 {
		free = pinned
	}
	if len(free) == 0 {
		return spot{}, false
	}
	return worst(free), true
}

func (m *naive) current(k spot) bool {
	for o, e := range m.nodes {
		if e.above == (percached.Path{}) && o.space == k.space && o.model != k.model && e.tick > m.nodes[k].tick {
			return false
		}
	}
	return true
}

func (m *naive) view(r qkvtree.Request) []bool {
	if !r.Idle {
		m.tick++
	}
	own, _ := paths(r)
	there := make([]bool, len(own))
	for i, p := range own {
		e := m.nodes[at(r, p)]
		if e == nil && r.Placement == percached.Sequential {
			break
		}
		if e != nil {
			there[i] = true
			if !r.Idle {
				e.hits++
				e.priority, e.tick, e.local = e.hits+m.clock, m.tick, e.hits+m.clockIn(r.Space)
			}
		}
	}
	return there
}

// remove removes what gone selects and everything after it.
func (m *naive) remove(gone func(spot, *entry) bool) (n int, bytes int64) {
	for again := true; again; {
		again = false
		for k, e := range m.nodes {
			parent := k
			parent.path = e.above
			orphan := k.placement == percached.Sequential && e.above != percached.Path{} && m.nodes[parent] == nil
			if gone(k, e) || orphan {
				delete(m.nodes, k)
				n, bytes, again = n+1, bytes+e.bytes, true
			}
		}
	}
	return n, bytes
}

// setLimit sets a space's own limit; negative: none.
func (m *naive) setLimit(space string, limit int64) {
	if limit < 0 {
		delete(m.limits, space)
		delete(m.clocks, space)
		return
	}
	m.limits[space] = limit
	m.evict(space, 0, nil)
}

// reopen forgets what is not on disk.
func (m *naive) reopen() {
	clear(m.clocks)
	for _, e := range m.nodes {
		e.local = e.priority
	}
}

type row struct {
	Chunk          percached.ChunkID
	Bytes          int64
	Hits, Priority uint64
}

// rows lists the tree's slices by position.
func rows(tree *qkvtree.Tree, spaces []string) map[string]row {
	all := map[string]row{}
	for _, s := range spaces {
		tree.Nodes(s, func(n qkvtree.Info) {
			all[fmt.Sprint(n.Space, n.Model, n.Placement, n.Path)] = row{n.Chunk, n.Bytes, n.Hits, n.Priority}
		})
	}
	return all
}

func (m *naive) rows() map[string]row {
	all := map[string]row{}
	for k, e := range m.nodes {
		all[fmt.Sprint(k.space, k.model, k.placement, k.path)] = row{e.chunk, e.bytes, e.hits, e.priority}
	}
	return all
}
