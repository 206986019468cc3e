package retrieval

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	index "github.com/blevesearch/bleve_index_api"
	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/kv"
)

// After damage to any file, the answers are the same as before.
func TestDamagedFiles(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 200)
	for part := range slices.Chunk(all, 50) {
		b.feed.add("s", part...)
		b.update()
	}
	want := b.ask("item77 and item120 on a shelf", 10)
	b.Close()
	good := t.TempDir()
	copyDir(t, b.dir(), good)
	files, err := filepath.Glob(filepath.Join(good, "*"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	damages := map[string]func(b []byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"garbage": func(b []byte) []byte { return bytes.Repeat([]byte{0xa5}, len(b)) },
		"zeroes":  func(b []byte) []byte { return make([]byte, len(b)) },
		"flipped": func(b []byte) []byte { b[len(b)/3] ^= 0x10; return b },
		"tail":    func(b []byte) []byte { b[len(b)-1] ^= 0x10; return b },
		"gone":    nil,
	}
	for _, f := range files {
		for name, damage := range damages {
			copyDir(t, good, b.dir())
			path := filepath.Join(b.dir(), filepath.Base(f))
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if damage == nil {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, damage(data), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			b.open()
			if d := cmp.Diff(want, b.ask("item77 and item120 on a shelf", 10)); d != "" {
				t.Errorf("%s %s: %s", filepath.Base(f), name, d)
			}
			b.Close()
		}
	}
	b.open()
}

// An unreadable value in the database is made again.
func TestDamagedValues(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 20)
	b.feed.add("s", all...)
	b.update()
	id := idOf("s")
	for name, change := range map[string]func(tx *kv.Tx) error{
		"vector cut": func(tx *kv.Tx) error { return tx.Set(id.vector(1, all[4].ID), []byte{formatVector}) },
		"other format": func(tx *kv.Tx) error {
			return tx.Set(id.vector(1, all[4].ID), append([]byte{9}, make([]byte, 8+128)...))
		},
		"strange key": func(tx *kv.Tx) error { return tx.Set(append(id.generation(1), 1, 2), []byte{1}) },
		"no record":   func(tx *kv.Tx) error { return tx.Delete(id.record()) },
		"a record of another format": func(tx *kv.Tx) error {
			return tx.Set(id.record(), append([]byte{formatSpace + 1}, record{}.encode()[1:]...))
		},
	} {
		b.Close()
		if err := b.o.DB.Update(change); err != nil {
			t.Fatal(err)
		}
		b.open()
		b.update()
		b.whole(name, all)
	}
}

// crumbling panics when it is read, as bleve does when a file changes under it.
type crumbling struct{ index.Index }

func (crumbling) Reader() (index.IndexReader, error) { panic("out of range") }

func TestBreaksWhileOpen(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 20)
	b.feed.add("s", all...)
	b.update()
	want := b.ask("item7", 5)
	made := b.emb.made
	sp := b.spaces["s"]
	sp.text.i = crumbling{sp.text.i}
	if d := cmp.Diff(want, b.ask("item7", 5)); d != "" {
		t.Error(d)
	}
	b.whole("made anew", all)
	if b.emb.made != made {
		t.Error("the vectors were whole, and were made again")
	}
}
