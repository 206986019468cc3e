package qkvtree_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/qkvtree"
)

// hotTree is a tree with a request, its slices, and a limit for slices in memory. They were
// lent once.
func hotTree(t *testing.T, dir string, limit int64) (*qkvtree.Tree, qkvtree.Request, []*percached.Slice, func() qkvtree.Stats) {
	t.Helper()
	tree := openTree(t, openDB(t, dir), options(20<<20))
	tree.SetHotLimit(limit)
	r := request("s", "m", percached.Parallel, "a", "b")
	mine := slicesOf(r, percached.QKV, 300_000, 1000, 200_000)
	insert(t, tree, r, mine)
	lent(t, tree, r, mine)
	return tree, r, mine, func() qkvtree.Stats {
		t.Helper()
		s, err := tree.Stats()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func size(of ...*percached.Slice) (n int64) {
	for _, s := range of {
		n += s.Bytes()
	}
	return n
}

// The second match reads no record: it lends the same bytes after the records were damaged.
// What finds the damage drops the slice from memory, too.
func TestHotReadsNoDisk(t *testing.T) {
	for _, name := range []string{"/plain", "/x" + encryptedEnd} {
		db := openDB(t, t.TempDir()+name)
		tree := openTree(t, db, options(20<<20))
		tree.SetHotLimit(20 << 20)
		r := request("s", "m", percached.Parallel, "a", "b")
		mine := slicesOf(r, percached.KV, 300_000)
		insert(t, tree, r, mine)
		lent(t, tree, r, mine)
		if got, want := hotBytes(tree), size(mine...); got != want {
			t.Errorf("%s: %d bytes in memory, want %d", name, got, want)
		}
		spoil(t, db, 'P', "m", mine[1].Path, func(b []byte) []byte { b[9] ^= 1; return b })
		spoil(t, db, 'H', "m", mine[2].Path, func([]byte) []byte { return nil })
		if d := cmp.Diff([]bool{true, true, true}, lent(t, tree, r, mine)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		s, err := tree.Stats()
		if err != nil || s.Hits != 6 || s.Hot != 3 || s.Damaged != 0 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		if _, err := tree.Verify(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]bool{true, false, false}, lent(t, tree, r, mine)); d != "" {
			t.Errorf("%s, found damaged: %s", name, d)
		}
		if got, want := hotBytes(tree), size(mine[0]); got != want {
			t.Errorf("%s: %d bytes in memory, want %d", name, got, want)
		}
	}
}

// Whatever takes a slice from the disk, or changes its form, takes it from memory.
func TestHotDropped(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(tree *qkvtree.Tree) error
		left int // of three slices
	}{
		{"forgotten", func(tree *qkvtree.Tree) error {
			_, _, err := tree.Forget("s", []percached.ChunkID{chunk("a")})
			return err
		}, 2},
		{"cleared", func(tree *qkvtree.Tree) error {
			_, _, err := tree.Clear("s")
			return err
		}, 0},
		{"evicted", func(tree *qkvtree.Tree) error { return tree.SetLimit(0) }, 0},
		{"packed", func(tree *qkvtree.Tree) error {
			_, _, err := tree.Pack("s", "m", percached.Parallel, percached.Q8, func(s *percached.Slice, to percached.Form) (*percached.Slice, error) {
				packed := *s
				packed.Form, packed.Pieces = to, slices.Clone(s.Pieces)
				p := &packed.Pieces[0]
				p.KV = p.KV[:len(p.KV)/2]
				p.Sum = p.Checksum()
				return &packed, nil
			})
			return err
		}, 2},
		{"no memory", func(tree *qkvtree.Tree) error { tree.SetHotLimit(0); return nil }, 0},
		{"other spaces", func(tree *qkvtree.Tree) error {
			_, _, err := tree.Clear("t")
			return err
		}, 3},
	} {
		tree, r, mine, stats := hotTree(t, t.TempDir(), 20<<20)
		if err := tree.View(r, func(lent []*percached.Slice, _ qkvtree.Match) error {
			if err := tc.do(tree); err != nil {
				return err
			}
			if d := cmp.Diff(mine, lent, whole()); d != "" {
				t.Errorf("%s: a lent slice changed", tc.name)
			}
			if hotBytes(tree) < size(mine...)/4 != (tc.left == 0) {
				t.Errorf("%s: %d bytes in memory", tc.name, hotBytes(tree))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		before := stats().Hot
		r.Form = percached.Q8
		if err := tree.View(r, func([]*percached.Slice, qkvtree.Match) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got := stats().Hot - before; got != uint64(tc.left) {
			t.Errorf("%s: %d slices came from memory, want %d", tc.name, got, tc.left)
		}
	}
}

// The limit holds: slices used longest ago leave the memory first, those of one request do
// not displace each other, and idle work displaces none.
func TestHotLimit(t *testing.T) {
	tree, r, mine, stats := hotTree(t, t.TempDir(), 0)
	if got := hotBytes(tree); got != 0 {
		t.Fatalf("%d bytes in memory without a limit", got)
	}
	tree.SetHotLimit(size(mine[0], mine[1]))
	lent(t, tree, r, mine)
	if got, want := hotBytes(tree), size(mine[0], mine[1]); got != want {
		t.Errorf("%d bytes in memory, want %d", got, want)
	}
	o := request("s", "m", percached.Parallel, "c")
	others := slicesOf(o, percached.KV, 1000)
	insert(t, tree, o, others)
	o.Idle = true
	rightful(t, tree, o)
	before := stats().Hot
	lent(t, tree, r, mine)
	if got := stats().Hot - before; got != 2 {
		t.Errorf("%d slices came from memory, want 2", got)
	}
	o.Idle = false
	rightful(t, tree, o) // the root is in memory, and chunk c replaces chunk a
	before = stats().Hot
	rightful(t, tree, o)
	if s := stats(); s.Hot-before != 2 || s.HotBytes > s.HotLimit {
		t.Errorf("%d slices came from memory, want 2; %d bytes of %d", s.Hot-before, s.HotBytes, s.HotLimit)
	}
}

func hotBytes(tree *qkvtree.Tree) int64 {
	n, _ := tree.Hot()
	return n
}
