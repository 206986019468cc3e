package qkvtree_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/qkvtree"
)

// naive is the tree as one would write it without regard to time or disks.
type naive struct {
	limit, overhead int64
	clock, tick     uint64
	nodes           map[spot]*entry
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
				e.hits, e.priority, e.tick = 1, 1+m.clock, m.tick
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
				if m.evictIdle(need, keep) {
					m.nodes[k] = &entry{above[i], r.Segments[i].Chunk, need, 0, m.clock, m.tick}
					keep[k] = true
				}
			case kept <= m.limit:
				m.evict(need, keep)
				m.nodes[k] = &entry{above[i], r.Segments[i].Chunk, need, 1, 1 + m.clock, m.tick}
				keep[k] = true
			}
		}
		if m.nodes[k] == nil && r.Placement == percached.Sequential {
			return
		}
	}
}

// evictIdle tries what evict does with what idle work may evict, and takes it all
// back if that is not enough.
func (m *naive) evictIdle(need int64, keep map[spot]bool) bool {
	before := maps.Clone(m.nodes)
	for m.size()+need > m.limit {
		var free []spot
		for k, e := range m.nodes {
			if m.leaf(k) && !keep[k] && e.above != (percached.Path{}) && e.priority <= m.clock {
				free = append(free, k)
			}
		}
		if len(free) == 0 {
			m.nodes = before
			return false
		}
		delete(m.nodes, m.worst(free))
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
	return slices.MinFunc(of, func(a, b spot) int {
		x, y := m.nodes[a], m.nodes[b]
		return cmp.Or(cmp.Compare(x.priority, y.priority), cmp.Compare(x.tick, y.tick), bytes.Compare(a.path[:], b.path[:]))
	})
}

func (m *naive) evict(need int64, keep map[spot]bool) {
	for m.size()+need > m.limit {
		var free, pinned []spot
		for k, e := range m.nodes {
			switch {
			case !m.leaf(k) || keep[k]:
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
			return
		}
		worst := m.worst(free)
		m.clock = max(m.clock, m.nodes[worst].priority)
		delete(m.nodes, worst)
	}
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
				e.priority, e.tick = e.hits+m.clock, m.tick
			}
		}
	}
	return there
}

// remove takes out what holds for gone, and all that is behind it.
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

type row struct {
	Chunk          percached.ChunkID
	Bytes          int64
	Hits, Priority uint64
}

// rows is what the tree has, by where it stands.
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

// Thousands of operations on the tree and on the naive one: after each they
// hold the same, and the accounts are right.
func TestAgainstNaive(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 11))
	dir := t.TempDir()
	db := openDB(t, dir)
	o := options(200_000)
	o.FlushEvery = 20
	tree := openTree(t, db, o)
	m := &naive{limit: o.Limit, nodes: map[spot]*entry{}}
	probe := request("s0", "m0", percached.Sequential)
	insert(t, tree, probe, slicesOf(probe, percached.KV))
	tree.Nodes("s0", func(n qkvtree.Info) { m.overhead = n.Bytes - 1000 })
	m.insert(probe, slicesOf(probe, percached.KV))
	spaces, models := []string{"s0", "s1"}, []string{"m0", "m1"}
	some := func() qkvtree.Request {
		var names []string
		for range rnd.IntN(4) {
			names = append(names, fmt.Sprint("c", min(rnd.IntN(12), rnd.IntN(12)))) // the same twice, too
		}
		model := models[0]
		if rnd.IntN(8) == 0 {
			model = models[1]
		}
		r := request(spaces[rnd.IntN(2)], model, percached.Placement(rnd.IntN(2)), names...)
		r.Idle = rnd.IntN(3) == 0
		return r
	}
	steps := 4000
	if testing.Short() {
		steps = 500
	}
	for step := range steps {
		var what string
		switch op := rnd.IntN(100); {
		case op < 45:
			r := some()
			given := slicesOf(r, percached.Planes(rnd.IntN(2)), 400+rnd.IntN(8)*1000, 3000, 500, 70_000)
			for i := range given {
				if rnd.IntN(8) == 0 {
					given[i] = nil
				}
			}
			what = fmt.Sprintf("insert %v", r.Segments)
			insert(t, tree, r, given)
			m.insert(r, given)
		case op < 85:
			r := some()
			what = fmt.Sprintf("view %v", r.Segments)
			var has []bool
			if rnd.IntN(2) == 0 {
				has = tree.Has(r)
			}
			got := rightful(t, tree, r)
			want := m.view(r)
			if d := gocmp.Diff(want, got); d != "" || has != nil && !slices.Equal(has, want) {
				t.Fatalf("step %d, %s: %s", step, what, d)
			}
		case op < 90:
			var ids []percached.ChunkID
			for range 1 + rnd.IntN(2) {
				ids = append(ids, chunk(fmt.Sprint("c", rnd.IntN(12))))
			}
			what = fmt.Sprintf("forget %v", ids)
			n, b, err := tree.Forget("s1", ids)
			wn, wb := m.remove(func(k spot, e *entry) bool { return k.space == "s1" && slices.Contains(ids, e.chunk) })
			if err != nil || n != wn || b != wb {
				t.Fatalf("step %d, %s: %d, %d, %v; want %d, %d", step, what, n, b, err, wn, wb)
			}
		case op < 93:
			m.limit = int64(rnd.IntN(300_000))
			what = fmt.Sprintf("limit %d", m.limit)
			if err := tree.SetLimit(m.limit); err != nil {
				t.Fatal(err)
			}
			m.evict(0, nil)
		case op < 94:
			what = "retire"
			n, _, err := tree.Retire("m1")
			if wn, _ := m.remove(func(k spot, _ *entry) bool { return k.model == "m1" }); n != wn || err != nil {
				t.Fatalf("step %d: retired %d, want %d; %v", step, n, wn, err)
			}
		case op < 95:
			what = "compact"
			if err := tree.Compact(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		case op < 97:
			what = "reopen"
			o.Limit = m.limit
			if err := tree.Close(); err != nil {
				t.Fatal(err)
			}
			db.Close()
			db = openDB(t, dir)
			tree = openTree(t, db, o)
		default:
			keys := slices.SortedFunc(maps.Keys(m.nodes), func(a, b spot) int {
				return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
			})
			if len(keys) == 0 {
				continue
			}
			k := keys[rnd.IntN(len(keys))]
			what = "damage and verify"
			spoilAt(t, db, k)
			rep, err := tree.Verify(t.Context())
			n, _ := m.remove(func(o spot, _ *entry) bool { return o == k })
			if err != nil || rep.Damaged != n || rep.Stale != 0 || rep.Uncounted != 0 {
				t.Fatalf("step %d, %s: %+v, want %d damaged; %v", step, what, rep, n, err)
			}
		}
		if d := gocmp.Diff(m.rows(), rows(tree, spaces)); d != "" {
			t.Fatalf("step %d, %s: %s", step, what, d)
		}
		s, err := tree.Stats()
		if err != nil || s.Bytes != m.size() || s.Bytes > s.Limit || s.Nodes != len(m.nodes) {
			t.Fatalf("step %d, %s: %+v, want %d bytes; %v", step, what, s, m.size(), err)
		}
		if free := tree.Free(); free != max(0, m.limit-m.size()) {
			t.Fatalf("step %d, %s: %d free of %d", step, what, free, m.limit-m.size())
		}
		if step%250 == 0 {
			clean(t, tree)
		}
	}
	clean(t, tree)
}

// rightful checks all that is lent of a request.
func rightful(t testing.TB, tree *qkvtree.Tree, r qkvtree.Request) (there []bool) {
	t.Helper()
	if err := tree.View(r, func(lent []*percached.Slice, _ qkvtree.Match) error {
		for i, s := range lent {
			there = append(there, s != nil)
			if s != nil {
				held(t, r, i, s)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return there
}

// held checks a lent slice against what an engine computes there.
func held(t testing.TB, r qkvtree.Request, i int, s *percached.Slice) {
	t.Helper()
	own, _ := paths(r)
	if s.Model != r.Model || s.Path != own[i] || !slices.Equal(s.Tokens, r.Segments[i].Tokens) {
		t.Errorf("another slice was lent")
	}
	for _, p := range s.Pieces {
		if !bytes.Equal(p.KV, noise(r.Model, s.Path, p.From, len(p.KV))) || len(p.Q) > 0 && !bytes.Equal(p.Q, noise(r.Model+"q", s.Path, p.From, len(p.Q))) {
			t.Errorf("other bytes were lent")
		}
	}
}
