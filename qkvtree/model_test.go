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

// After each of thousands of operations the tree equals the naive one, and the counts are
// right.
func TestAgainstNaive(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 11))
	dir := t.TempDir()
	db := openDB(t, dir)
	o := options(200_000)
	o.FlushEvery = 20
	tree := openTree(t, db, o)
	m := &naive{limit: o.Limit, nodes: map[spot]*entry{}, limits: map[string]int64{}, clocks: map[string]uint64{}}
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
		if step%40 == 0 { // some of the time slices come from memory
			tree.SetHotLimit(int64(step % 200 * 1000))
		}
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
			m.evict("", 0, nil)
		case op < 94:
			space, limit := spaces[rnd.IntN(2)], int64(rnd.IntN(200_000)-60_000)
			what = fmt.Sprintf("limit %d of %s", limit, space)
			if err := tree.SetSpaceLimit(space, limit); err != nil {
				t.Fatal(err)
			}
			m.setLimit(space, limit)
		case op < 95:
			what = "clear"
			n, _, err := tree.ClearAll()
			if wn, _ := m.remove(func(spot, *entry) bool { return true }); n != wn || err != nil {
				t.Fatalf("step %d: cleared %d, want %d; %v", step, n, wn, err)
			}
		case op < 96:
			what = "compact"
			if err := tree.Compact(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		case op < 98:
			what = "reopen"
			o.Limit = m.limit
			if err := tree.Close(); err != nil {
				t.Fatal(err)
			}
			db.Close()
			db = openDB(t, dir)
			tree = openTree(t, db, o)
			m.reopen()
			for space, limit := range m.limits {
				if err := tree.SetSpaceLimit(space, limit); err != nil {
					t.Fatal(err)
				}
			}
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
		if err != nil || s.Bytes != m.size() || s.Bytes > s.Limit || s.HotBytes > s.HotLimit || s.Nodes != len(m.nodes) {
			t.Fatalf("step %d, %s: %+v, want %d bytes; %v", step, what, s, m.size(), err)
		}
		for _, space := range spaces {
			if free, want := tree.FreeIn(space), m.free(space); free != want || m.over(space, 0) > 0 {
				t.Fatalf("step %d, %s: %d free in %s, want %d; it is %d over its limit", step, what, free, space, want, m.over(space, 0))
			}
		}
		if step%250 == 0 {
			clean(t, tree)
		}
	}
	clean(t, tree)
}

// rightful checks everything lent for a request.
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

// held compares a lent slice with what an engine computes there.
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
