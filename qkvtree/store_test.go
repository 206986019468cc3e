package qkvtree_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
	"github.com/percached/percached/internal/kv"
	"github.com/percached/percached/qkvtree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const space, model = "mails", "weights-1+engine-1"

// whole compares tensors at once: byte by byte, go-cmp takes minutes.
var whole = cmp.Comparer(bytes.Equal)

var key = []byte("0123456789abcdef0123456789abcdef")

func open(t testing.TB, dir string) *kv.DB {
	t.Helper()
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 4<<20, 0
	db, err := kv.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func store(t testing.TB, db *kv.DB) *qkvtree.Store {
	t.Helper()
	st, err := qkvtree.New(db, qkvtree.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// slice makes one whose pieces hold so many tokens and bytes.
func slice(seed int32, planes percached.Planes, per, bytesPerToken int, tokens int) *percached.Slice {
	s := &percached.Slice{Model: model, Start: int(seed), Planes: planes}
	for i := range tokens {
		s.Tokens = append(s.Tokens, seed*1000+int32(i)-5)
	}
	s.Path = percached.Path{}.Child(s.Tokens)
	for at := 0; at < tokens; at += per {
		p := percached.Piece{From: at, To: min(at+per, tokens)}
		p.KV = noise(byte(seed)+byte(at), (p.To-p.From)*bytesPerToken)
		if planes == percached.QKV {
			p.Q = noise(byte(seed)^byte(at), (p.To-p.From)*bytesPerToken*3)
		}
		p.Sum = p.Checksum()
		s.Pieces = append(s.Pieces, p)
	}
	return s
}

func noise(seed byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*131>>5) + seed
	}
	return b
}

func view(t *testing.T, st *qkvtree.Store, pl percached.Placement, want ...*percached.Slice) {
	t.Helper()
	var paths []percached.Path
	for _, s := range want {
		paths = append(paths, s.Path)
	}
	called := false
	want = append([]*percached.Slice{}, want...)
	if err := st.View(space, pl, model, paths, func(got []*percached.Slice) error {
		called = true
		if d := cmp.Diff(want, got, whole); d != "" {
			t.Errorf("other slices came back: %.2000s", d)
		}
		return nil
	}); err != nil || !called {
		t.Error(called, err)
	}
}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	st := store(t, db)
	slices := []*percached.Slice{
		slice(0, percached.KV, 1, 3, 1),           // beside its key
		slice(1, percached.KV, 64, 15<<10, 130),   // in the value log
		slice(2, percached.QKV, 40, 8<<10, 128),   // with queries
		slice(3, percached.QKV, 128, 4<<10, 1000), // a short last piece
	}
	for _, s := range slices {
		if err := st.Put(space, percached.Parallel, s); err != nil {
			t.Fatal(err)
		}
	}
	shorter := slice(1, percached.KV, 130, 15<<10, 130) // the same, cut otherwise
	if err := st.Put(space, percached.Parallel, shorter); err != nil {
		t.Fatal(err)
	}
	slices[1] = shorter
	view(t, st, percached.Parallel, slices...)
	db.Close()
	db = open(t, dir)
	st = store(t, db)
	view(t, st, percached.Parallel, slices[3], slices[0], slices[2], slices[1])
	view(t, st, percached.Parallel)

	none := func(space string, pl percached.Placement, model string) {
		t.Helper()
		err := st.View(space, pl, model, []percached.Path{slices[0].Path}, func([]*percached.Slice) error {
			t.Error("lent")
			return nil
		})
		var se *qkvtree.SliceError
		if !errors.Is(err, qkvtree.ErrMissing) || !errors.As(err, &se) || se.Path != slices[0].Path || fault.KindOf(err) != fault.NotFound {
			t.Error(err)
		}
	}
	none("other", percached.Parallel, model)
	none(space, percached.Sequential, model)
	none(space, percached.Parallel, "weights-2")
	if err := st.Delete(space, percached.Parallel, model, slices[0].Path); err != nil {
		t.Fatal(err)
	}
	none(space, percached.Parallel, model)
	if err := st.Delete(space, percached.Parallel, model, slices[0].Path); !errors.Is(err, qkvtree.ErrMissing) {
		t.Error(err)
	}
	view(t, st, percached.Parallel, slices[1:]...)
}

func TestWritingWhileLent(t *testing.T) {
	st := store(t, open(t, t.TempDir()))
	a := slice(1, percached.KV, 64, 16<<10, 128)
	if err := st.Put(space, percached.Sequential, a); err != nil {
		t.Fatal(err)
	}
	if err := st.View(space, percached.Sequential, model, []percached.Path{a.Path}, func(got []*percached.Slice) error {
		for i := range 6 { // files are filled and cut
			if err := st.Put(space, percached.Sequential, slice(int32(i)+2, percached.KV, 64, 16<<10, 128)); err != nil {
				return err
			}
		}
		if err := st.Delete(space, percached.Sequential, model, a.Path); err != nil {
			return err
		}
		if d := cmp.Diff(a, got[0], whole); d != "" {
			t.Error("a lent slice changed")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestDamage(t *testing.T) {
	s := slice(7, percached.QKV, 32, 2<<10, 100)
	set := func(change func(b []byte) []byte) func(*kv.Tx, []byte) error {
		return func(tx *kv.Tx, k []byte) error {
			b, err := tx.Get(k)
			if err != nil {
				return err
			}
			return tx.Set(k, change(b))
		}
	}
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[(at+len(b))%len(b)] ^= 1; return b }
	}
	remove := func(tx *kv.Tx, k []byte) error { return tx.Delete(k) }
	for _, tc := range []struct {
		name   string
		prefix string
		index  int
		do     func(*kv.Tx, []byte) error
		err    error
		detail string
	}{
		{"header missing", "H", 0, remove, qkvtree.ErrMissing, ""},
		{"magic", "H", 0, set(flip(0)), qkvtree.ErrDamaged, "no slice header"},
		{"newer", "H", 0, set(func(b []byte) []byte { b[4] = 2; return b }), qkvtree.ErrNewer, ""},
		{"planes", "H", 0, set(flip(6)), qkvtree.ErrDamaged, "MAC"},
		{"token", "H", 0, set(flip(90)), qkvtree.ErrDamaged, "MAC"},
		{"mac", "H", 0, set(flip(-1)), qkvtree.ErrDamaged, "MAC"},
		{"short", "H", 0, set(func(b []byte) []byte { return b[:20] }), qkvtree.ErrDamaged, "cut short"},
		{"shorter", "H", 0, set(func(b []byte) []byte { return b[:len(b)-1] }), qkvtree.ErrDamaged, "MAC"},
		{"empty", "H", 0, set(func(b []byte) []byte { return nil }), qkvtree.ErrDamaged, "no slice header"},
		{"piece missing", "P", 3, remove, qkvtree.ErrDamaged, "piece 3 is missing"},
		{"keys", "P", 0, set(flip(0)), qkvtree.ErrDamaged, "piece 0 does not match"},
		{"queries", "P", 1, set(flip(-1)), qkvtree.ErrDamaged, "piece 1 does not match"},
		{"piece cut", "P", 2, set(func(b []byte) []byte { return b[1:] }), qkvtree.ErrDamaged, "piece 2 has"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			db := open(t, t.TempDir())
			st := store(t, db)
			if err := st.Put(space, percached.Parallel, s); err != nil {
				t.Fatal(err)
			}
			if err := db.Update(func(tx *kv.Tx) error {
				var keys [][]byte
				if err := tx.Keys([]byte(tc.prefix), func(k []byte, _ int64) error {
					keys = append(keys, bytes.Clone(k))
					return nil
				}); err != nil {
					return err
				}
				return tc.do(tx, keys[tc.index])
			}); err != nil {
				t.Fatal(err)
			}
			err := st.View(space, percached.Parallel, model, []percached.Path{s.Path}, func([]*percached.Slice) error {
				t.Error("lent")
				return nil
			})
			if !errors.Is(err, tc.err) || !strings.Contains(fmt.Sprint(err), tc.detail) {
				t.Errorf("got %v, want %v: %s", err, tc.err, tc.detail)
			}
			if err := st.Put(space, percached.Parallel, s); err != nil { // it heals
				t.Fatal(err)
			}
			view(t, st, percached.Parallel, s)
		})
	}
}

// A header of one place is worth nothing in another, nor under another key.
func TestHeaderIsBound(t *testing.T) {
	db := open(t, t.TempDir())
	st := store(t, db)
	s := slice(7, percached.KV, 32, 2<<10, 100)
	if err := st.Put(space, percached.Parallel, s); err != nil {
		t.Fatal(err)
	}
	other, err := qkvtree.New(db, qkvtree.Options{Key: bytes.Repeat([]byte{1}, qkvtree.MinKey)})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.View(space, percached.Parallel, model, []percached.Path{s.Path}, nil); !errors.Is(err, qkvtree.ErrDamaged) {
		t.Error(err)
	}
	if err := db.Update(func(tx *kv.Tx) error { // to the other placement
		return tx.Keys(nil, func(k []byte, _ int64) error {
			v, err := tx.Get(k)
			to := bytes.Clone(k)
			to[33] = byte(percached.Sequential)
			return errors.Join(err, tx.Set(to, v))
		})
	}); err != nil {
		t.Fatal(err)
	}
	if err := st.View(space, percached.Sequential, model, []percached.Path{s.Path}, nil); !errors.Is(err, qkvtree.ErrDamaged) {
		t.Error(err)
	}
	if _, err := qkvtree.New(db, qkvtree.Options{Key: []byte("short")}); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}

// A crash before the header leaves pieces that nobody sees, and that the next
// Put or Delete of the slice clears away.
func TestPiecesWithoutHeader(t *testing.T) {
	db := open(t, t.TempDir())
	st := store(t, db)
	long, short := slice(1, percached.KV, 10, 1<<10, 60), slice(1, percached.KV, 60, 1<<10, 60)
	if err := st.Put(space, percached.Sequential, long); err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *kv.Tx) error {
		return tx.Keys([]byte("H"), func(k []byte, _ int64) error { return tx.Delete(bytes.Clone(k)) })
	}); err != nil {
		t.Fatal(err)
	}
	if err := st.View(space, percached.Sequential, model, []percached.Path{long.Path}, nil); !errors.Is(err, qkvtree.ErrMissing) {
		t.Error(err)
	}
	if err := st.Put(space, percached.Sequential, short); err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := db.View(func(tx *kv.Tx) error {
		return tx.Keys([]byte("P"), func([]byte, int64) error { n++; return nil })
	}); err != nil || n != 1 {
		t.Errorf("%d pieces, want 1; %v", n, err)
	}
	view(t, st, percached.Sequential, short)
}

func TestPutRefuses(t *testing.T) {
	st := store(t, open(t, t.TempDir()))
	for name, spoil := range map[string]func(*percached.Slice){
		"sum":        func(s *percached.Slice) { s.Pieces[0].Sum++ },
		"no pieces":  func(s *percached.Slice) { s.Pieces = nil },
		"gap":        func(s *percached.Slice) { s.Pieces = s.Pieces[1:] },
		"no end":     func(s *percached.Slice) { s.Pieces = s.Pieces[:1] },
		"no tokens":  func(s *percached.Slice) { s.Tokens, s.Pieces = nil, nil },
		"planes":     func(s *percached.Slice) { s.Planes = percached.QKV },
		"planes 2":   func(s *percached.Slice) { s.Planes = 2 },
		"start":      func(s *percached.Slice) { s.Start = -1 },
		"empty":      func(s *percached.Slice) { s.Pieces[0].KV = nil; s.Pieces[0].Sum = s.Pieces[0].Checksum() },
		"long model": func(s *percached.Slice) { s.Model = strings.Repeat("m", 1<<16) },
	} {
		s := slice(1, percached.KV, 10, 100, 20)
		spoil(s)
		if err := st.Put(space, percached.Parallel, s); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}
