package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/kv/kvtest"
)

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
func worn(t *testing.T, dir string, o Options, fn func()) (want map[string]string) {
	t.Helper()
	do := func(db *DB, from, to, size int) {
		for i := from; i < to; i++ {
			if err := db.Update(func(tx *Tx) error {
				return errors.Join(
					tx.Set(fmt.Appendf(nil, "key%03d", i), bytes.Repeat([]byte{byte(i + 1)}, size)),
					tx.Set(fmt.Appendf(nil, "big%03d", i%7), bytes.Repeat([]byte{byte(i + 1)}, largeValue+i)),
					tx.Delete(fmt.Appendf(nil, "key%03d", i-5)),
				)
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
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
func TestDamage(t *testing.T) { testDamage(t, small(), 1) }

// An encrypted database is refused as a plain one is. Its list of data keys is a file more.
func TestDamageEncrypted(t *testing.T) { testDamage(t, secret(), 4) }

// secret are options of an encrypted database.
func secret() Options {
	o := small()
	o.Key = bytes.Repeat([]byte{7}, 32)
	return o
}

// testDamage tries one harm in every so many.
func testDamage(t *testing.T, o Options, every int) {
	base := t.TempDir()
	dir := filepath.Join(base, "db")
	var killed kvtest.Files
	want := worn(t, dir, o, func() { killed = kvtest.ReadFiles(t, dir) })
	closed := kvtest.ReadFiles(t, dir)
	at := filepath.Join(base, "trial")
	harms, trials, refused := 0, 0, 0
	for state, files := range map[string]kvtest.Files{"closed": closed, "killed": killed} {
		if trialOf(t, o, at, files, want, nil, "nothing"); t.Failed() {
			t.Fatalf("a database that was %s does not open unharmed", state)
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			for _, h := range kvtest.Harms(files[name]) {
				if harms++; testing.Short() && harms%(4*every) != 0 || harms%every != 0 {
					continue
				}
				trials++
				if trialOf(t, o, at, files, want, &h, name) {
					refused++
				}
				if t.Failed() {
					t.Fatalf("%s, %s: %s", state, name, h.Name)
				}
			}
		}
	}
	t.Logf("%d trials, %d refused", trials, refused)
}

func trialOf(t *testing.T, o Options, dir string, files kvtest.Files, want map[string]string, h *kvtest.Harm, name string) (refused bool) {
	t.Helper()
	files.Write(t, dir)
	if h != nil {
		if err := h.Do(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	before := kvtest.ReadFiles(t, dir)
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
	if after := kvtest.ReadFiles(t, dir); !maps.EqualFunc(before, after, bytes.Equal) {
		t.Error("a refused database was changed")
	}
	return true
}
