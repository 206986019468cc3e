package qkvtree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/qkvtree"
)

// An idle View changes neither the counts nor the slices. Damage that it finds is
// counted.
func TestIdleViewCountsNothing(t *testing.T) {
	db := openDB(t, t.TempDir())
	tree := openTree(t, db, options(1<<20))
	r := request("s", "m", percached.Parallel, "a", "b")
	mine := slicesOf(r, percached.KV)
	insert(t, tree, r, mine[:3])
	look := func() (qkvtree.Stats, []qkvtree.Info) {
		t.Helper()
		s, err := tree.Stats()
		if err != nil {
			t.Fatal(err)
		}
		var nodes []qkvtree.Info
		tree.Nodes("s", func(n qkvtree.Info) { nodes = append(nodes, n) })
		return s, nodes
	}
	r.Idle = true
	before, nodes := look()
	if d := cmp.Diff([]bool{true, true, true}, lent(t, tree, r, mine)); d != "" {
		t.Error(d)
	}
	after, same := look()
	if d := cmp.Diff(before, after); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(nodes, same); d != "" {
		t.Error(d)
	}
	spoil(t, db, 'P', "m", mine[1].Path, func(b []byte) []byte { b[0] ^= 1; return b })
	if d := cmp.Diff([]bool{true, false, true}, lent(t, tree, r, mine)); d != "" {
		t.Error(d)
	}
	if s, _ := look(); s.Damaged != 1 || s.Dropped != 1 || s.Requests != 0 {
		t.Errorf("%+v", s)
	}
	clean(t, tree)
}

// A slice stored by idle work is unused until a request uses it.
func TestIdleIsUnused(t *testing.T) {
	o := options(1 << 20)
	tree := openTree(t, openDB(t, t.TempDir()), o)
	r := request("s", "m", percached.Sequential, "a")
	r.Idle = true
	insert(t, tree, r, slicesOf(r, percached.KV))
	used := func(want bool) {
		t.Helper()
		tree.Nodes("s", func(n qkvtree.Info) {
			if n.Used.Equal(o.Now()) != want || n.Used.IsZero() == want || (n.Hits > 0) != want {
				t.Errorf("%+v", n)
			}
		})
		if s, err := tree.Stats(); err != nil || s.Groups[0].Used.IsZero() == want {
			t.Errorf("%+v, %v", s.Groups, err)
		}
	}
	used(false)
	r.Idle = false
	rightful(t, tree, r)
	used(true)
}

// FreeIn is what fits before any eviction; a limit below the stored size leaves nothing.
func TestFree(t *testing.T) {
	tree := openTree(t, openDB(t, t.TempDir()), options(1<<20))
	if n := tree.FreeIn("s"); n != 1<<20 {
		t.Errorf("%d bytes free in an empty tree", n)
	}
	r := request("s", "m", percached.Parallel, "a")
	insert(t, tree, r, slicesOf(r, percached.KV))
	s, err := tree.Stats()
	if err != nil || tree.FreeIn("s") != s.Limit-s.Bytes {
		t.Error(tree.FreeIn("s"), s, err)
	}
	if err := tree.SetLimit(0); err != nil || tree.FreeIn("s") != 0 {
		t.Error(tree.FreeIn("s"), err)
	}
}
