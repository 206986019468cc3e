package qkvtree

import (
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// newTree opens an empty tree.
func newTree(t *testing.T) *Tree {
	t.Helper()
	o := kv.Default()
	o.MinFree = 0
	db, err := kv.Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	to := Default()
	to.Key = mac
	tree, err := Open(db, to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree
}

// A slice inserted after a View began is neither stored nor damaged for it.
func TestStoredAfterViewBegan(t *testing.T) {
	tree := newTree(t)
	r := Request{Space: "s", Model: "m", Segments: []Node{{Tokens: tokens}}}
	s := example(percached.KV)
	s.Path = percached.Path{}.Child(tokens)
	ps, err := r.positions("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.store.db.View(func(tx *kv.Tx) error {
		if err := tree.Insert(r, []*percached.Slice{s}); err != nil {
			return err
		}
		_, lent, m, err := tree.viewPath(tx, r, ps)
		if lent[0] != nil || m != (Match{}) {
			t.Errorf("lent %v, %+v", lent, m)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if !tree.Has(r)[0] {
		t.Error("a sound slice was dropped")
	}
}

// While a slice is being packed, the database has its new form before its node does. A
// request for exact slices gets none then, and Verify finds no fault.
func TestPackedWhileLent(t *testing.T) {
	for _, placement := range []percached.Placement{percached.Sequential, percached.Parallel} {
		tree := newTree(t)
		r := Request{Space: "s", Model: "m", Placement: placement, Segments: []Node{{Tokens: []int32{1}}, {Tokens: tokens}}}
		root, s := example(percached.KV), example(percached.KV)
		root.Tokens, root.Pieces = []int32{1}, []percached.Piece{{To: 1, KV: []byte("k")}}
		root.Path, root.Pieces[0].Sum = percached.Path{}.Child(root.Tokens), root.Pieces[0].Checksum()
		s.Path = root.Path.Child(tokens)
		if err := tree.Insert(r, []*percached.Slice{root, s}); err != nil {
			t.Fatal(err)
		}
		packed := *s
		packed.Form = percached.Q8
		ps, err := r.positions("test")
		if err != nil {
			t.Fatal(err)
		}
		n := tree.f.find(r.group(), s.Path)
		h, err := newHeader(r.group(), ps[1], &packed, tree.o.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := tree.store.put(n.group.prefix, h, &packed, n.counters); err != nil {
			t.Fatal(err)
		}
		var report Report
		if err := tree.verify(n, &report); err != nil || !report.Clean() {
			t.Errorf("%s: %+v, %v", placement, report, err)
		}
		for form, want := range map[percached.Form]bool{percached.Exact: false, percached.Q8: true} {
			r.Form = form
			if err := tree.View(r, func(lent []*percached.Slice, m Match) error {
				if (lent[1] != nil) != want || lent[0] == nil || m.Damaged != 0 {
					t.Errorf("%s, %s: lent %v, %+v", placement, form, lent, m)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// An exact slice that replaces a packed one is written as a whole, and counted so against the
// limit of the files.
func TestPromotedCountsOnDisk(t *testing.T) {
	tree := newTree(t)
	r := Request{Space: "s", Model: "m", Placement: percached.Parallel, Segments: []Node{{Tokens: []int32{1}}, {Tokens: tokens}}}
	s := example(percached.KV)
	s.Path = percached.Path{}.Child([]int32{1}).Child(tokens)
	all := []*percached.Slice{nil, s}
	if err := tree.Insert(r, all); err != nil {
		t.Fatal(err)
	}
	if freed, _, err := tree.Pack("s", "m", percached.Parallel, percached.Q8, func(s *percached.Slice, to percached.Form) (*percached.Slice, error) {
		packed := *s
		packed.Form, packed.Pieces = to, []percached.Piece{{To: len(tokens), KV: []byte("k")}}
		packed.Pieces[0].Sum = packed.Pieces[0].Checksum()
		return &packed, nil
	}); freed <= 0 || err != nil {
		t.Fatal(freed, err)
	}
	before := tree.space.disk
	if err := tree.Insert(r, all); err != nil {
		t.Fatal(err)
	}
	n := tree.f.find(r.group(), s.Path)
	if got := tree.space.disk - before; n.form != percached.Exact || got != n.bytes {
		t.Errorf("%s: %d bytes of %d are counted", n.form, got, n.bytes)
	}
}
