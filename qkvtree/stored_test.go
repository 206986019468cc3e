package qkvtree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
)

// The observer is told once for each call what was newly stored.
func TestTellsWhatIsStored(t *testing.T) {
	type told struct {
		Slices int
		Bytes  int64
	}
	var heard []told
	o := options(1 << 20)
	o.Observer.Stored = func(slices int, bytes int64) { heard = append(heard, told{slices, bytes}) }
	tree := openTree(t, openDB(t, t.TempDir()), o)
	written := func() int64 {
		t.Helper()
		s, err := tree.Stats()
		if err != nil {
			t.Fatal(err)
		}
		return s.Written
	}
	r := request("s", "m", percached.Parallel, "a")
	insert(t, tree, r, slicesOf(r, percached.KV))
	first := written()
	insert(t, tree, r, slicesOf(r, percached.KV)) // all is there
	more := request("s", "m", percached.Parallel, "a", "b")
	insert(t, tree, more, slicesOf(more, percached.KV))
	both := written()
	if err := tree.SetLimit(both); err != nil {
		t.Fatal(err)
	}
	big := request("s", "m", percached.Parallel, "c")
	insert(t, tree, big, slicesOf(big, percached.KV, 1000, int(both))) // no room
	if d := cmp.Diff([]told{{2, first}, {1, both - first}}, heard); d != "" {
		t.Error(d)
	}
	if st, err := tree.Stats(); err != nil || st.Refused != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}
