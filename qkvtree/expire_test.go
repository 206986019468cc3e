package qkvtree_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/qkvtree"
)

// talk is a request with turns, which follow each other, and chunks.
func talk(placement percached.Placement, turns, chunks []string) qkvtree.Request {
	r := request("s", "m", placement, append(append([]string{}, turns...), chunks...)...)
	for i := range turns {
		r.Segments[1+i].Turn, r.Segments[1+i].Chunk = true, chunk("talk")
	}
	return r
}

// A turn's slice lives for 30 minutes after its last use, or for 7 days if it was used five
// times; a chunk's does not expire. A restart changes nothing about that.
func TestExpire(t *testing.T) {
	for _, placement := range []percached.Placement{percached.Sequential, percached.Parallel} {
		for _, reopens := range []bool{false, true} {
			now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
			db, o := openDB(t, t.TempDir()), options(1<<20)
			o.Now = func() time.Time { return now }
			tree := openTree(t, db, o)
			dialog := talk(placement, []string{"hello", "more"}, nil)
			documents := request("s", "m", placement, "a", "b")
			insert(t, tree, dialog, slicesOf(dialog, percached.KV))
			insert(t, tree, documents, slicesOf(documents, percached.KV))
			after := func(d time.Duration, gone int) {
				t.Helper()
				now = now.Add(d)
				if reopens {
					tree.Close()
					tree = openTree(t, db, o)
				}
				if n, bytes, err := tree.Expire(); n != gone || (bytes > 0) != (n > 0) || err != nil {
					t.Errorf("%v, reopened %t, after %v: %d slices of %d bytes expired, %v, want %d", placement, reopens, d, n, bytes, err, gone)
				}
			}
			use := func() { lent(t, tree, dialog, slicesOf(dialog, percached.KV)) }
			for range 3 { // with storing, four uses
				after(qkvtree.TurnLife, 0)
				use()
			}
			after(qkvtree.TurnLife+time.Second, 2)
			insert(t, tree, dialog, slicesOf(dialog, percached.KV))
			for range 4 {
				use()
			}
			after(qkvtree.PromotedLife, 0)
			after(time.Second, 2)
			if d := cmp.Diff([]bool{true, true, true}, lent(t, tree, documents, slicesOf(documents, percached.KV))); d != "" {
				t.Errorf("the documents' slices: %s", d)
			}
			clean(t, tree)
			if s, err := tree.Stats(); err != nil || !reopens && s.Expired != 4 || s.Evicted != 0 {
				t.Errorf("%+v, %v", s, err)
			}
		}
	}
}

// What idle work prepared for a conversation expires too, though nobody used it.
func TestExpireUnused(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	o := options(1 << 20)
	o.Now = func() time.Time { return now }
	tree := openTree(t, openDB(t, t.TempDir()), o)
	r := talk(percached.Sequential, []string{"hello"}, []string{"behind"})
	r.Idle = true
	insert(t, tree, r, slicesOf(r, percached.KV))
	now = now.Add(qkvtree.TurnLife)
	if n, _, err := tree.Expire(); n != 0 || err != nil {
		t.Errorf("%d expired early, %v", n, err)
	}
	now = now.Add(time.Second)
	if n, _, err := tree.Expire(); n != 2 || err != nil { // the chunk cannot stay without the turn
		t.Errorf("%d expired, %v", n, err)
	}
}
