package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// harm is one way to damage a file.
type harm struct {
	name string
	do   func(path string, size int64) error
}

// harms are all that the sweep does to a file of a size. Bytes that were allocated
// but never written are not worth a flip: filled is where they begin.
func harms(size, filled int64) []harm {
	var all []harm
	cut := map[int64]bool{}
	for _, at := range []int64{0, 1, size / 2, size - 1} {
		if at < 0 || at >= size || cut[at] {
			continue
		}
		cut[at] = true
		all = append(all, harm{fmt.Sprintf("cut at %d of %d", at, size), func(path string, _ int64) error { return os.Truncate(path, at) }})
	}
	flipped := map[int64]bool{}
	for i := range int64(10) {
		at := i * max(filled-1, 0) / 9
		if filled == 0 || flipped[at] {
			continue
		}
		flipped[at] = true
		all = append(all, harm{fmt.Sprintf("bit flipped at %d of %d", at, size), func(path string, _ int64) error { return flipBit(path, at) }})
	}
	return append(all, harm{"removed", func(path string, _ int64) error { return os.Remove(path) }})
}

func flipBit(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		return err
	}
	b[0] ^= 1 << (at % 8)
	_, err = f.WriteAt(b[:], at)
	return err
}

// snapshot reads all files of a folder.
func snapshot(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = b
	}
	return files
}

// lay writes files into a fresh folder.
func lay(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, b := range files {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			filled := bytes.TrimRight(b, "\x00")
			_, err = f.Write(filled)
			err = errors.Join(err, f.Truncate(int64(len(b))), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func contentOf(t *testing.T, db *DB) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := db.View(func(tx *Tx) error {
		return tx.Each(nil, func(k, v []byte) error { all[string(k)] = fmt.Sprintf("%d %x", len(v), v[:min(len(v), 8)]); return nil })
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// worn makes a database that was written, deleted from, reclaimed, closed and opened
// several times, and calls fn while it is open, behind its last change.
func worn(t *testing.T, dir string, fn func()) (want map[string]string) {
	t.Helper()
	do := func(db *DB, from, to, size int) {
		for i := from; i < to; i++ {
			if err := db.Update(func(tx *Tx) error {
				return errors.Join(
					tx.Set(fmt.Appendf(nil, "key%03d", i), bytes.Repeat([]byte{byte(i + 1)}, size)),
					tx.Set(fmt.Appendf(nil, "big%03d", i%7), bytes.Repeat([]byte{byte(i + 1)}, inLog+i)),
					tx.Delete(fmt.Appendf(nil, "key%03d", i-5)),
				)
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	o := small()
	o.Sync = true
	for round := range 3 {
		db, err := Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		do(db, 20*round, 20*round+20, 3000)
		if round < 2 {
			if err := errors.Join(db.Reclaim(context.Background()), db.Close()); err != nil {
				t.Fatal(err)
			}
			continue
		}
		do(db, 60, 90, 20_000) // fills a memtable
		do(db, 90, 93, 100)
		want = contentOf(t, db)
		fn()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return want
}

// Whatever happens to one file of a database: it opens with all that was in it, or
// it is refused, the file is named, and no byte has changed.
func TestDamage(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "db")
	var killed map[string][]byte
	want := worn(t, dir, func() { killed = snapshot(t, dir) })
	closed := snapshot(t, dir)
	at := filepath.Join(base, "trial")
	trials, refused := 0, 0
	for state, files := range map[string]map[string][]byte{"closed": closed, "killed": killed} {
		if trialOf(t, at, files, want, nil, "nothing"); t.Failed() {
			t.Fatalf("a database that was %s does not open unharmed", state)
		}
		for name, b := range files {
			for i, h := range harms(int64(len(b)), int64(len(bytes.TrimRight(b, "\x00")))) {
				if testing.Short() && i%4 != 0 {
					continue
				}
				trials++
				if trialOf(t, at, files, want, &h, name) {
					refused++
				}
				if t.Failed() {
					t.Fatalf("%s, %s: %s", state, name, h.name)
				}
			}
		}
	}
	t.Logf("%d trials, %d refused", trials, refused)
}

func trialOf(t *testing.T, dir string, files map[string][]byte, want map[string]string, h *harm, name string) (refused bool) {
	t.Helper()
	lay(t, dir, files)
	if h != nil {
		if err := h.do(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, dir)
	o := small()
	o.Sync = true
	db, err := Open(dir, o)
	if err == nil {
		if d := cmp.Diff(want, contentOf(t, db)); d != "" {
			t.Error(d)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		return false
	}
	d, ok := errors.AsType[*Damage](err)
	if h == nil || !ok || d.Dir == "" || !strings.Contains(err.Error(), filepath.Ext(name)) || !strings.Contains(err.Error(), name) && filepath.Ext(name) == "" {
		t.Errorf("%v", err)
	}
	if after := snapshot(t, dir); !maps.EqualFunc(before, after, bytes.Equal) {
		t.Error("a refused database was changed")
	}
	return true
}
