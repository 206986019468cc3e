package retrieval

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/percached/percached"
)

// The graph is an HNSW: every vector has a level, drawn so that each level has
// a sixteenth of the one below, and on each level links to vectors near it. A
// search walks from the top down to the neighbourhood of the question.
const (
	graphLinks  = 16 // of a node on upper levels; twice as many on the ground
	graphGround = 2 * graphLinks
	graphBuild  = 120 // candidates kept while a node is put in
	graphSearch = 480 // candidates kept while a question is searched for
	graphLevels = 12
	graphSeed   = 0x9e3779b97f4a7c15
)

// graph is over some of the slots of vectors, and guarded as they are: who searches
// holds their lock, who changes it holds write, and the lock while it does.
type graph struct {
	level  []int8  // by slot; -1: not in the graph
	ground []int32 // links of the lowest level, graphGround a slot
	count  []uint8 // how many of them
	upper  map[int32][][]int32
	entry  int32 // -1: empty
	nodes  int
	dead   map[int32]bool // nodes whose chunk is gone; they still lead the way
	walks  *sync.Pool     // of *walk
}

func newGraph() *graph {
	return &graph{upper: map[int32][][]int32{}, entry: -1, dead: map[int32]bool{}, walks: &sync.Pool{}}
}

// has says whether a slot is a node; a nil graph has none.
func (g *graph) has(s int32) bool {
	return g != nil && int(s) < len(g.level) && g.level[s] >= 0
}

// bury notes that a node's chunk is gone.
func (g *graph) bury(s int32) { g.dead[s] = true }

// levelOf draws from the chunk's own hash: the same chunk gets the same level.
func levelOf(id percached.ChunkID) int8 {
	x := binary.LittleEndian.Uint64(id[:]) ^ graphSeed
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	u := (float64(x>>11) + 1) / (1 << 53)
	return int8(min(-math.Log(u)/math.Log(graphLinks), graphLevels))
}

func (g *graph) links(s int32, level int8) []int32 {
	if level == 0 {
		at := int(s) * graphGround
		return g.ground[at : at+int(g.count[s])]
	}
	return g.upper[s][level-1]
}

func (g *graph) setLinks(s int32, level int8, to []int32) {
	if level == 0 {
		g.count[s] = uint8(copy(g.ground[int(s)*graphGround:], to))
		return
	}
	g.upper[s][level-1] = append(g.upper[s][level-1][:0], to...)
}

func maxLinks(level int8) int {
	if level == 0 {
		return graphGround
	}
	return graphLinks
}

// reach makes the tables long enough for a slot.
func (g *graph) reach(s int32) {
	if n := int(s) + 1 - len(g.level); n > 0 {
		for range n {
			g.level = append(g.level, -1)
		}
		g.count = append(g.count, make([]uint8, n)...)
		g.ground = append(g.ground, make([]int32, n*graphGround)...)
	}
}

// insert puts a slot in.
func (g *graph) insert(v *vectors, s int32) {
	g.reach(s)
	level := levelOf(v.ids[s])
	g.level[s] = level
	if level > 0 {
		g.upper[s] = make([][]int32, level)
	}
	g.nodes++
	if g.entry < 0 {
		g.entry = s
		return
	}
	w := g.walk()
	defer g.walks.Put(w)
	q := v.row(s)
	top := g.level[g.entry]
	start := near{g.entry, percached.Dot(q, v.row(g.entry))}
	for l := top; l > level; l-- {
		start = g.descend(v, q, start, l)
	}
	from := []near{start}
	for l := min(top, level); l >= 0; l-- {
		found := g.around(v, q, from, graphBuild, l, w)
		from = slices.Clone(found)
		chosen := g.choose(v, found, graphLinks)
		g.setLinks(s, l, chosen)
		for _, n := range chosen {
			g.link(v, n, s, l)
		}
	}
	if level > top {
		g.entry = s
	}
}

// link adds a link, and drops the least useful one when there is no room.
func (g *graph) link(v *vectors, from, to int32, level int8) {
	links := g.links(from, level)
	if len(links) < maxLinks(level) {
		if level == 0 {
			g.ground[int(from)*graphGround+len(links)] = to
			g.count[from]++
		} else {
			g.upper[from][level-1] = append(links, to)
		}
		return
	}
	row := v.row(from)
	all := make([]near, 0, len(links)+1)
	for _, n := range append(slices.Clone(links), to) {
		all = append(all, near{n, percached.Dot(row, v.row(n))})
	}
	sortNear(all)
	g.setLinks(from, level, g.choose(v, all, maxLinks(level)))
}

// choose picks links from candidates, nearest first: one that is nearer to a
// link chosen before than to the node itself is reached over that one. If too
// few are left, the nearest of the others fill up.
func (g *graph) choose(v *vectors, candidates []near, n int) []int32 {
	out := make([]int32, 0, n)
	var others []int32
next:
	for _, c := range candidates {
		if len(out) == n {
			return out
		}
		for _, o := range out {
			if percached.Dot(v.row(c.slot), v.row(o)) > c.cosine {
				others = append(others, c.slot)
				continue next
			}
		}
		out = append(out, c.slot)
	}
	return append(out, others[:min(len(others), n-len(out))]...)
}

func sortNear(all []near) {
	slices.SortFunc(all, func(a, b near) int { return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(a.slot, b.slot)) })
}

// mend gives a slot that has links to nodes that are going new ones, from among the
// neighbours of these. It takes the lock only to change them: to choose takes long.
func (g *graph) mend(v *vectors, s int32, going map[int32]bool) {
	for l := int8(0); l <= g.level[s] && !going[s]; l++ {
		if slices.ContainsFunc(g.links(s, l), func(n int32) bool { return going[n] }) {
			to := g.choose(v, g.around2(v, s, l, going), maxLinks(l))
			v.mu.Lock()
			g.setLinks(s, l, to)
			v.mu.Unlock()
		}
	}
}

// drop takes dead nodes out that nothing links to any more.
func (g *graph) drop(going map[int32]bool) {
	for s := range going {
		g.level[s], g.count[s] = -1, 0
		delete(g.upper, s)
		delete(g.dead, s)
		g.nodes--
	}
	if g.entry = -1; g.nodes > 0 {
		top := slices.Max(g.level)
		g.entry = int32(slices.Index(g.level, top))
	}
}

// around2 are the neighbours of a node that stay and those of its others.
func (g *graph) around2(v *vectors, s int32, level int8, going map[int32]bool) []near {
	row, seen := v.row(s), map[int32]bool{s: true}
	var out []near
	var visit func(links []int32, depth int)
	visit = func(links []int32, depth int) {
		for _, n := range links {
			if seen[n] {
				continue
			}
			seen[n] = true
			if !going[n] {
				out = append(out, near{n, percached.Dot(row, v.row(n))})
			} else if depth < 3 {
				visit(g.links(n, level), depth+1)
			}
		}
	}
	visit(g.links(s, level), 0)
	sortNear(out)
	return out
}
