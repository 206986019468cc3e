package qkvtree

import (
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// A slice inserted after a View began is neither stored nor damaged for it.
func TestStoredAfterViewBegan(t *testing.T) {
	o := kv.Default()
	o.MinFree = 0
	db, err := kv.Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	to := Default()
	to.Key = mac
	tree, err := Open(db, to)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	r := Request{Space: "s", Model: "m", Segments: []Node{{Tokens: tokens}}}
	s := example(percached.KV)
	s.Path = percached.Path{}.Child(tokens)
	ps, err := r.positions("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.View(func(tx *kv.Tx) error {
		if err := tree.Insert(r, []*percached.Slice{s}); err != nil {
			return err
		}
		lent, m, err := tree.viewPath(tx, r, ps)
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
