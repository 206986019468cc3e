package qkvtree_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/qkvtree"
)

// cut is a packer that keeps the beginning of each piece.
func cut(s *percached.Slice, to percached.Form) (*percached.Slice, error) {
	packed := *s
	packed.Form, packed.Pieces = to, nil
	for _, p := range s.Pieces {
		p.KV = append([]byte(nil), p.KV[:len(p.KV)/2]...)
		p.Sum = p.Checksum()
		packed.Pieces = append(packed.Pieces, p)
	}
	return &packed, nil
}

// pack packs n times, and fails if something else than want were packed.
func pack(t testing.TB, tree *qkvtree.Tree, pl percached.Placement, want ...string) {
	t.Helper()
	for _, name := range want {
		var what string
		freed, _, err := tree.Pack("s", "m", pl, percached.Q4, func(s *percached.Slice, to percached.Form) (*percached.Slice, error) {
			for _, n := range []string{"", "a", "b", "c"} {
				if cmp.Equal(s.Tokens, tokensOf(n, 4)) {
					what = n + " " + to.String()
				}
			}
			return cut(s, to)
		})
		if err != nil {
			t.Fatal(err)
		}
		if what != name || (freed > 0) != (name != "") {
			t.Errorf("packed %q and freed %d bytes, want %q", what, freed, name)
		}
	}
}

func asked(t testing.TB, tree *qkvtree.Tree, r qkvtree.Request) {
	t.Helper()
	if err := tree.View(r, func([]*percached.Slice, qkvtree.Match) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// The slices that were used once go first, largest form first; the root stays.
func TestPackOrder(t *testing.T) {
	tree := openTree(t, openDB(t, t.TempDir()), options(1<<30))
	for _, n := range []string{"a", "b", "c"} {
		r := request("s", "m", percached.Parallel, n)
		insert(t, tree, r, slicesOf(r, percached.KV))
	}
	asked(t, tree, request("s", "m", percached.Parallel, "a"))
	pack(t, tree, percached.Parallel, "b q8", "c q8", "b q4", "c q4", "a q8", "a q4", "")
	clean(t, tree)
}

// Under sequential placement what follows goes first.
func TestPackOrderOfAChain(t *testing.T) {
	tree := openTree(t, openDB(t, t.TempDir()), options(1<<30))
	r := request("s", "m", percached.Sequential, "a", "b")
	insert(t, tree, r, slicesOf(r, percached.KV))
	pack(t, tree, percached.Sequential, "b q8", "a q8", "b q4", "a q4", "")
	r = request("s", "m", percached.Sequential, "a", "c")
	if d := cmp.Diff([]bool{false, false, false}, tree.Lacks(r)); d != "" {
		t.Errorf("behind a packed slice nothing can be stored: %s", d)
	}
	clean(t, tree)
}

// A slice that the next form would not make smaller stays as it is, blocks no other, and is not
// tried again until it is replaced.
func TestPackNotSmaller(t *testing.T) {
	tree := openTree(t, openDB(t, t.TempDir()), options(1<<30))
	small, large := request("s", "m", percached.Parallel, "a"), request("s", "m", percached.Parallel, "b")
	exact := slicesOf(small, percached.KV)
	insert(t, tree, small, exact)
	insert(t, tree, large, slicesOf(large, percached.KV))
	tried := 0
	grow := func(s *percached.Slice, to percached.Form) (*percached.Slice, error) {
		if !cmp.Equal(s.Tokens, tokensOf("a", 4)) || to == percached.Q8 {
			return cut(s, to)
		}
		tried++
		packed := *s
		packed.Form, packed.Pieces = to, slices.Clone(s.Pieces)
		for i, p := range packed.Pieces {
			packed.Pieces[i].KV = append(slices.Clone(p.KV), 1)
			packed.Pieces[i].Sum = packed.Pieces[i].Checksum()
		}
		return &packed, nil
	}
	freed := func() (n int) {
		for {
			bytes, _, err := tree.Pack("s", "m", percached.Parallel, percached.Q4, grow)
			if err != nil {
				t.Fatal(err)
			}
			if bytes <= 0 {
				return n
			}
			n++
		}
	}
	if n := freed(); n != 3 || tried != 1 {
		t.Errorf("packed %d times, want a and b to q8 and b to q4; q4 of a was tried %d times", n, tried)
	}
	if freed(); tried != 1 || tree.Packable("s", "m", percached.Parallel, percached.Q4) {
		t.Errorf("q4 of a was tried %d times, want 1", tried)
	}
	small.Form = percached.Q8
	lent(t, tree, small, []*percached.Slice{exact[0], must(cut(exact[1], percached.Q8))})
	small.Form = percached.Exact
	insert(t, tree, small, exact)
	if n := freed(); n != 1 || tried != 2 {
		t.Errorf("after an exact slice replaced it: packed %d times, q4 of a was tried %d times", n, tried)
	}
	clean(t, tree)
}

func must(s *percached.Slice, err error) *percached.Slice {
	if err != nil {
		panic(err)
	}
	return s
}

// Packed slices are lent as they are, also after the tree was opened again; exact requests
// do not find them, and their slices replace them.
func TestPackedSlices(t *testing.T) {
	dir := t.TempDir()
	db := openDB(t, dir)
	tree := openTree(t, db, options(1<<30))
	r := request("s", "m", percached.Parallel, "a", "b")
	all := slicesOf(r, percached.KV)
	insert(t, tree, request("s", "m", percached.Parallel, "a"), all[:2])
	insert(t, tree, r, all)
	before, err := tree.Stats()
	if err != nil {
		t.Fatal(err)
	}
	pack(t, tree, percached.Parallel, "a q8")
	after, err := tree.Stats()
	if err != nil {
		t.Fatal(err)
	}
	want := map[percached.Form]int{percached.Exact: 2, percached.Q8: 1}
	got := map[percached.Form]int{}
	for f, s := range after.Forms {
		got[f] = s.Nodes
	}
	if d := cmp.Diff(want, got); d != "" || before.Bytes-after.Bytes != 490 { // 500 bytes less, 10 more of the header
		t.Errorf("%d bytes were freed; forms: %s", before.Bytes-after.Bytes, d)
	}
	packed, _ := cut(all[1], percached.Q8)
	mixed := []*percached.Slice{all[0], packed, all[2]}
	r.Form = percached.Q8
	lent(t, tree, r, mixed)
	if err := errors.Join(tree.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	tree = openTree(t, openDB(t, dir), options(1<<30))
	if d := cmp.Diff([]bool{true, true, true}, lent(t, tree, r, mixed)); d != "" {
		t.Error(d)
	}
	exact := r
	exact.Form = percached.Exact
	if d := cmp.Diff([]bool{true, false, true}, lent(t, tree, exact, all)); d != "" {
		t.Error(d)
	}
	insert(t, tree, exact, all)
	if d := cmp.Diff([]bool{true, true, true}, lent(t, tree, exact, all)); d != "" {
		t.Error(d)
	}
	clean(t, tree)
}

// Idle work replaces only what was used again.
func TestIdleWorkPromotesWhatIsUsed(t *testing.T) {
	tree := openTree(t, openDB(t, t.TempDir()), options(1<<30))
	r := request("s", "m", percached.Parallel, "a")
	all := slicesOf(r, percached.KV)
	insert(t, tree, r, all)
	pack(t, tree, percached.Parallel, "a q8")
	exact := r
	r.Form, exact.Idle = percached.Q8, true
	for _, want := range []bool{false, true} {
		insert(t, tree, exact, all)
		if got := tree.Has(exact)[1]; got != want {
			t.Errorf("an exact slice is stored: %v, want %v", got, want)
		}
		asked(t, tree, r)
	}
	clean(t, tree)
}

// A slice belongs to the segment that stored it, also after another one with the same tokens
// replaced its packed form: it is forgotten with the first, and does not expire.
func TestPromotedKeepsItsChunk(t *testing.T) {
	db := openDB(t, t.TempDir())
	tree := openTree(t, db, options(1<<30))
	r := request("s", "m", percached.Parallel, "a")
	all := slicesOf(r, percached.KV)
	insert(t, tree, r, all)
	pack(t, tree, percached.Parallel, "a q8")
	other := request("s", "m", percached.Parallel, "a")
	other.Segments[1].Chunk, other.Segments[1].Turn = chunk("b"), true
	insert(t, tree, other, all)
	clean(t, tree)
	for _, reopen := range []bool{false, true} {
		if reopen {
			tree.Close()
			o := options(1 << 30)
			o.Now = func() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) }
			tree = openTree(t, db, o)
		}
		expired, _, err := tree.Expire()
		if n, _, failed := tree.Forget("s", []percached.ChunkID{chunk("b")}); n+expired != 0 || err != nil || failed != nil {
			t.Errorf("%d expired, %d forgotten with another chunk: %v, %v", expired, n, err, failed)
		}
	}
	if n, _, err := tree.Forget("s", []percached.ChunkID{chunk("a")}); n != 1 || err != nil {
		t.Errorf("%d forgotten with the chunk: %v", n, err)
	}
}

// What cannot be packed stays as it is.
func TestPackFails(t *testing.T) {
	tree := openTree(t, openDB(t, t.TempDir()), options(1<<30))
	r := request("s", "m", percached.Parallel, "a")
	all := slicesOf(r, percached.KV)
	insert(t, tree, r, all)
	for name, p := range map[string]qkvtree.Packer{
		"error": func(*percached.Slice, percached.Form) (*percached.Slice, error) { return nil, errors.New("no") },
		"wrong sum": func(s *percached.Slice, to percached.Form) (*percached.Slice, error) {
			c, _ := cut(s, to)
			c.Pieces[0].Sum++
			return c, nil
		},
		"other path": func(s *percached.Slice, to percached.Form) (*percached.Slice, error) {
			c, _ := cut(s, to)
			c.Path[0]++
			return c, nil
		},
	} {
		if _, _, err := tree.Pack("s", "m", percached.Parallel, percached.Q4, p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	lent(t, tree, r, all)
	clean(t, tree)
}

// A damaged packed slice is dropped like others.
func TestDamagedPackedSlice(t *testing.T) {
	db := openDB(t, t.TempDir())
	tree := openTree(t, db, options(1<<30))
	r := request("s", "m", percached.Parallel, "a")
	all := slicesOf(r, percached.KV)
	insert(t, tree, r, all)
	pack(t, tree, percached.Parallel, "a q8")
	r.Form = percached.Q8
	spoil(t, db, 'P', "m", all[1].Path, func(b []byte) []byte { b[7] ^= 1; return b })
	if d := cmp.Diff([]bool{true, false}, lent(t, tree, r, all)); d != "" {
		t.Error(d)
	}
	clean(t, tree)
}
