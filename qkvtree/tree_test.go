package qkvtree_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/qkvtree"
)

// A user does not notice a broken record: it counts as not stored, and the next insert
// repairs it.
func TestDamage(t *testing.T) {
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[(at+len(b))%len(b)] ^= 1; return b }
	}
	for _, tc := range []struct {
		name   string
		kind   byte
		change func([]byte) []byte
		cause  error
		detail string
	}{
		{"header gone", 'H', func([]byte) []byte { return nil }, qkvtree.ErrMissing, "header"},
		{"magic", 'H', flip(0), qkvtree.ErrDamaged, "not a slice header"},
		{"newer", 'H', func(b []byte) []byte { b[4] = 3; return b }, qkvtree.ErrNewer, ""},
		{"planes", 'H', flip(6), qkvtree.ErrDamaged, "MAC"},
		{"token", 'H', flip(130), qkvtree.ErrDamaged, "MAC"},
		{"mac", 'H', flip(-1), qkvtree.ErrDamaged, "MAC"},
		{"short", 'H', func(b []byte) []byte { return b[:20] }, qkvtree.ErrDamaged, "truncated"},
		{"empty", 'H', func([]byte) []byte { return []byte{} }, qkvtree.ErrDamaged, "not a slice header"},
		{"piece gone", 'P', func([]byte) []byte { return nil }, qkvtree.ErrMissing, "piece 0"},
		{"keys", 'P', flip(0), qkvtree.ErrDamaged, "piece 0 does not match"},
		{"queries", 'P', flip(-1), qkvtree.ErrDamaged, "piece 0 does not match"},
		{"piece cut", 'P', func(b []byte) []byte { return b[1:] }, qkvtree.ErrDamaged, "piece 0 has"},
	} {
		for _, reopen := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, opened again %t", tc.name, reopen), func(t *testing.T) {
				db := openDB(t, t.TempDir())
				o := options(1 << 20)
				var told []string
				o.Observer.Dropped = func(n qkvtree.Info, cause error) {
					if !errors.Is(cause, qkvtree.ErrOrphan) {
						told = append(told, cause.Error())
						if !errors.Is(cause, tc.cause) && !reopen {
							t.Errorf("%v, want %v", cause, tc.cause)
						}
					}
				}
				tree := openTree(t, db, o)
				r := request("s", "m", percached.Sequential, "a", "b", "c")
				mine := slicesOf(r, percached.QKV, 3000)
				insert(t, tree, r, mine)
				spoil(t, db, tc.kind, "m", mine[2].Path, tc.change)
				if reopen {
					tree.Close()
					tree = openTree(t, db, o)
					// Pieces are only read on request.
					known := tc.kind == 'H' || tc.cause == qkvtree.ErrMissing
					if got := tree.Has(r)[2]; got == known {
						t.Errorf("after Open it counts as stored: %t", got)
					}
				}
				if got := fmt.Sprint(lent(t, tree, r, mine)); got != "[true true false false]" {
					t.Error(got)
				}
				unseen := reopen && tc.kind == 'H' && tc.cause == qkvtree.ErrMissing // nothing says that it was there
				if len(told) != 1 && !unseen || len(told) == 1 && !strings.Contains(told[0], tc.detail) && !reopen {
					t.Errorf("told %q, want %q", told, tc.detail)
				}
				s, err := tree.Stats()
				if err != nil || s.Nodes != 2 {
					t.Error(s.Nodes, err)
				}
				clean(t, tree)
				insert(t, tree, r, mine)
				if got := fmt.Sprint(lent(t, tree, r, mine)); got != "[true true true true]" {
					t.Error(got)
				}
				clean(t, tree)
			})
		}
	}
}

// A header is invalid at another position or under another key.
func TestHeaderIsBound(t *testing.T) {
	db := openDB(t, t.TempDir())
	tree := openTree(t, db, options(1<<20))
	r := request("s", "m", percached.Parallel, "a")
	insert(t, tree, r, slicesOf(r, percached.KV))
	if err := db.Update(func(tx *kv.Tx) error { // to the other placement
		return tx.Keys(nil, func(k []byte, _ int64) error {
			if len(k) < 60 {
				return nil
			}
			v, err := tx.Get(k)
			to := bytes.Clone(k)
			to[33] = byte(percached.Sequential)
			return errors.Join(err, tx.Set(to, v))
		})
	}); err != nil {
		t.Fatal(err)
	}
	rep, err := tree.Verify(t.Context())
	if err != nil || rep.Stale != 8 {
		t.Errorf("%+v, %v", rep, err)
	}
	o := options(1 << 20)
	o.Key = bytes.Repeat([]byte{1}, qkvtree.MinKey)
	other := openTree(t, db, o)
	if got := fmt.Sprint(other.Has(r)); got != "[false false]" {
		t.Error(got)
	}
	clean(t, other)
}

// A crash leaves pieces without a header, or records without a slice.
func TestOrphans(t *testing.T) {
	db := openDB(t, t.TempDir())
	tree := openTree(t, db, options(1<<20))
	r := request("s", "m", percached.Parallel, "a", "b")
	mine := slicesOf(r, percached.KV, 1000, 50_000)
	insert(t, tree, r, mine)
	gone := func([]byte) []byte { return nil }
	spoil(t, db, 'H', "m", mine[1].Path, gone)
	spoil(t, db, 'C', "m", mine[2].Path, gone)
	tree.Close()
	tree = openTree(t, db, options(1<<20))
	clean(t, tree) // counts and records agree without Verify
	if got := fmt.Sprint(lent(t, tree, r, mine)); got != "[true false true]" {
		t.Error(got)
	}
}

// After Forget and Compact no file contains tokens or tensors of the forgotten chunk.
func TestForgottenBytes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := openDB(t, dir)
	tree := openTree(t, db, options(20<<20))
	r := request("s", "m", percached.Sequential, "secret", "behind")
	mine := slicesOf(r, percached.KV, 300, 90_000, 2000)
	insert(t, tree, r, mine)
	o := request("s", "m2", percached.Parallel, "secret")
	insert(t, tree, o, slicesOf(o, percached.KV, 200_000))
	var needles [][]byte
	for _, s := range mine[1:] {
		var ids []byte
		for _, id := range s.Tokens {
			ids = binary.LittleEndian.AppendUint32(ids, uint32(id))
		}
		needles = append(needles, ids, s.Pieces[0].KV[:64], s.Path[:])
	}
	secret := chunk("secret")
	needles = append(needles, secret[:])
	found := func() (n int) {
		for _, needle := range needles {
			if err := filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				b, err := os.ReadFile(path)
				if bytes.Contains(b, needle) {
					n++
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	if found() < len(needles) {
		t.Fatal("they are not where they are looked for")
	}
	n, size, err := tree.Forget("s", []percached.ChunkID{secret})
	if err != nil || n != 3 || size < 290_000 {
		t.Error(n, size, err)
	}
	if err := tree.Compact(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if n := found(); n != 0 {
		t.Errorf("%d traces", n)
	}
	clean(t, tree)
}

func TestRefused(t *testing.T) {
	db := openDB(t, t.TempDir())
	for name, spoil := range map[string]func(*qkvtree.Options){
		"key": func(o *qkvtree.Options) { o.Key = nil }, "limit": func(o *qkvtree.Options) { o.Limit = -1 },
		"flush": func(o *qkvtree.Options) { o.FlushEvery = 0 }, "clock": func(o *qkvtree.Options) { o.Now = nil },
	} {
		o := options(1)
		spoil(&o)
		if _, err := qkvtree.Open(db, o); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	tree := openTree(t, db, options(1<<20))
	r := request("s", "m", percached.Parallel, "a")
	for name, spoil := range map[string]func(r *qkvtree.Request, s []*percached.Slice){
		"sum":        func(_ *qkvtree.Request, s []*percached.Slice) { s[0].Pieces[0].Sum++ },
		"no pieces":  func(_ *qkvtree.Request, s []*percached.Slice) { s[0].Pieces = nil },
		"gap":        func(_ *qkvtree.Request, s []*percached.Slice) { s[1].Pieces = s[1].Pieces[1:] },
		"no end":     func(_ *qkvtree.Request, s []*percached.Slice) { s[1].Pieces = s[1].Pieces[:1] },
		"planes":     func(_ *qkvtree.Request, s []*percached.Slice) { s[0].Planes = percached.QKV },
		"planes 2":   func(_ *qkvtree.Request, s []*percached.Slice) { s[0].Planes = 2 },
		"start":      func(_ *qkvtree.Request, s []*percached.Slice) { s[0].Start = -1 },
		"tokens":     func(_ *qkvtree.Request, s []*percached.Slice) { s[0].Tokens = s[0].Tokens[1:] },
		"path":       func(_ *qkvtree.Request, s []*percached.Slice) { s[1].Path = s[0].Path },
		"model":      func(_ *qkvtree.Request, s []*percached.Slice) { s[0].Model = "m2" },
		"placement":  func(r *qkvtree.Request, _ []*percached.Slice) { r.Placement = 2 },
		"order":      func(_ *qkvtree.Request, s []*percached.Slice) { s[0], s[1] = s[1], s[0] },
		"long space": func(r *qkvtree.Request, _ []*percached.Slice) { r.Space = strings.Repeat("s", 1<<16) },
	} {
		r, s := r, slicesOf(r, percached.KV)
		spoil(&r, s)
		if err := tree.Insert(r, s); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := tree.Insert(r, nil); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if err := tree.SetLimit(-1); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	broken := errors.New("broken")
	if err := tree.View(r, func([]*percached.Slice, qkvtree.Match) error { return broken }); err != broken {
		t.Error(err)
	}
	bad := r
	bad.Placement = 2
	if err := tree.View(bad, nil); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	tree.Close()
	for name, err := range map[string]error{
		"view": tree.View(r, nil), "insert": tree.Insert(r, slicesOf(r, percached.KV)), "limit": tree.SetLimit(1), "flush": tree.Flush(),
	} {
		if fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	if err := tree.Close(); err != nil {
		t.Error(err)
	}
	tree = openTree(t, db, options(1<<20))
	db.Close()
	if err := tree.View(r, nil); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	if err := tree.Compact(context.Background(), nil); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
}

// An empty request is valid and stores nothing.
func TestNothing(t *testing.T) {
	tree := openTree(t, openDB(t, t.TempDir()), options(1<<20))
	r := qkvtree.Request{Space: "s", Model: "m"}
	insert(t, tree, r, nil)
	if got := lent(t, tree, r, nil); got != nil {
		t.Error(got)
	}
	r = request("s", "m", percached.Parallel)
	insert(t, tree, r, slicesOf(r, percached.KV))
	if n, _, err := tree.Forget("s", []percached.ChunkID{{}}); n != 0 || err != nil || !tree.Has(r)[0] {
		t.Error("no chunk was forgotten, and the system segment went:", n, err)
	}
	clean(t, tree)
}
