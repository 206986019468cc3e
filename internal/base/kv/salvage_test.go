package kv

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/percached/percached/internal/base/kv/kvtest"
)

// What can be read of a damaged database is saved, and nothing else comes of it: no
// value that was not there, no key that was deleted. The damaged one stays.
func TestSalvage(t *testing.T) { testSalvage(t, small(), 1) }

// The same holds for an encrypted database, unless its list of data keys is damaged.
func TestSalvageEncrypted(t *testing.T) { testSalvage(t, secret(), 5) }

func testSalvage(t *testing.T, o Options, every int) {
	base := t.TempDir()
	dir := filepath.Join(base, "db")
	var killed kvtest.Files
	want := worn(t, dir, o, func() { killed = kvtest.ReadFiles(t, dir) })
	closed := kvtest.ReadFiles(t, dir)
	at, harms := filepath.Join(base, "trial"), 0
	for state, files := range map[string]kvtest.Files{"closed": closed, "killed": killed} {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if name == recordName || name == "LOCK" || o.Key != nil && name == badger.KeyRegistryFileName {
				continue
			}
			for _, h := range kvtest.Harms(files[name]) {
				if harms++; harms%2 != 0 || testing.Short() && harms%8 != 0 || harms/2%every != 0 {
					continue
				}
				if aside, err := filepath.Glob(at + "*"); err != nil || len(aside) > 0 {
					for _, path := range aside {
						os.RemoveAll(path)
					}
				}
				files.Write(t, at)
				if err := h.Do(filepath.Join(at, name)); err != nil {
					t.Fatal(err)
				}
				before := kvtest.ReadFiles(t, at)
				got, err := Salvage(context.Background(), at, o)
				if err != nil {
					t.Fatalf("%s, %s: %s: %v", state, name, h.Name, err)
				}
				if got.Sound {
					got.Aside = at
				}
				if !maps.EqualFunc(before, kvtest.ReadFiles(t, got.Aside), bytes.Equal) {
					t.Errorf("%s, %s: %s: what was damaged is not kept as it was", state, name, h.Name)
				}
				db, err := Open(at, o)
				if err != nil {
					t.Fatalf("%s, %s: %s: %v", state, name, h.Name, err)
				}
				have := contentOf(t, db)
				if err := db.Close(); err != nil {
					t.Error(err)
				}
				lost := 0
				for k, v := range want {
					if have[k] == "" {
						lost++
					} else if have[k] != v && len(got.Lost) == 0 {
						t.Errorf("%s, %s: %s: %s is %s", state, name, h.Name, k, have[k])
					}
				}
				if !got.Sound && len(have) != got.Values {
					t.Errorf("%s, %s: %s: %d values instead of %d", state, name, h.Name, len(have), got.Values)
				}
				if lost > 0 && len(got.Lost) == 0 {
					t.Errorf("%s, %s: %s: %d values are lost without a word", state, name, h.Name, lost)
				}
			}
		}
	}
}

// Of a folder without a database nothing is made.
func TestSalvageNothing(t *testing.T) {
	dir := t.TempDir()
	if _, err := Salvage(context.Background(), dir, small()); err == nil {
		t.Error("a database was made of nothing")
	}
	if left := kvtest.ReadFiles(t, dir); len(left) > 0 {
		t.Errorf("%d files", len(left))
	}
}
