package kv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/fault"
)

// filled makes a database with values in tables and in the value log.
func filled(t testing.TB, dir string) {
	t.Helper()
	db, err := Open(dir, small())
	if err != nil {
		t.Fatal(err)
	}
	b := db.Bulk()
	for i := range 60 {
		if err := b.Set(fmt.Appendf(nil, "key%03d", i), bytes.Repeat([]byte{byte(i)}, 500+i%7*10_000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(b.Flush(), db.Reclaim(context.Background()), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func one(t testing.TB, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) == 0 {
		t.Fatal(pattern, err)
	}
	return found[0]
}

// change changes a file.
func change(t testing.TB, path string, fn func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, fn(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func set1(at int, c ...byte) func([]byte) []byte {
	return func(b []byte) []byte { copy(b[(at+len(b))%len(b):], c); return b }
}

// What badger dies of, hangs on or silently loses is found before it looks.
func TestInspect(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		do         func([]byte) []byte
		refused    string // "": it opens, and all or some is there
		all        bool
	}{
		{"sound", "MANIFEST", func(b []byte) []byte { return b }, "", true},
		{"checksum of a table endless", "*.sst", set1(-4, 0xff, 0xff, 0xff, 0xf0), "table", false},
		{"length of a table's checksum", "*.sst", set1(-1, 0xf0), "table", false},
		{"block of a table", "*.sst", set1(0, 1), "table", false},
		{"table cut", "*.sst", func(b []byte) []byte { return b[:len(b)/2] }, "table", false},
		{"table empty", "*.sst", func([]byte) []byte { return nil }, "table", false},
		{"manifest", "MANIFEST", set1(20, 0xff), "manifest", false},
		{"manifest cut", "MANIFEST", func(b []byte) []byte { return b[:len(b)-3] }, "manifest", false},
		{"garbage counts of no file", "DISCARD", set1(0, 1, 0, 0, 0, 0, 0, 0, 1, 0xff), "", true},
		{"garbage counts of all", "DISCARD", func(b []byte) []byte { return bytes.Repeat([]byte{0xaa}, len(b)) }, "", true},
		{"list of keys", "KEYREGISTRY", set1(20, 0xff), "", true},
		{"list of endless keys", "KEYREGISTRY", func(b []byte) []byte { return append(b, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0) }, "", true},
		{"key of a value log", "*.vlog", set1(3, 7), "", true},
		{"length of a value", "*.vlog", set1(logHeader+3, 0xff, 0xff, 0xff, 0xff, 0x0f), "", false},
		{"length of a key", "*.vlog", set1(logHeader+2, 0xff, 0xff, 0xff, 0xff, 0x0f), "", false},
		{"value log empty", "*.vlog", func([]byte) []byte { return nil }, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			filled(t, dir)
			change(t, one(t, dir, tc.file), tc.do)
			o := small()
			var cause error
			o.Disposable, o.Observer.SetAside = true, func(_, _ string, err error) { cause = err }
			db, err := Open(dir, o)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if (cause != nil) != (tc.refused != "") || !strings.Contains(fmt.Sprint(cause), tc.refused) {
				t.Fatalf("set aside for %v, want %q", cause, tc.refused)
			}
			n, bad := 0, 0
			if err := db.View(func(tx *Tx) error {
				return tx.Scan([]byte("key"), func(_, _ []byte, damage error) error {
					if n++; damage != nil {
						bad++
					}
					return nil
				})
			}); err != nil {
				t.Error(err)
			}
			if cause == nil && n != 60 || tc.all && bad > 0 || cause != nil && n > 0 {
				t.Errorf("%d keys, %d damaged", n, bad)
			}
			if err := db.Reclaim(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Data that may not be lost is not passed over.
func TestInspectKeeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	filled(t, dir)
	change(t, one(t, dir, "*.sst"), set1(5, 0xff))
	if _, err := Open(dir, small()); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "MANIFEST")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, small()); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
}

// A crash can leave a log without a byte.
func TestEmptyLogs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	make1(t, dir, "here")
	for _, name := range []string{"00009.mem", "000009.vlog"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, dir, "here")
}

func FuzzTable(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "db")
	filled(f, dir)
	b, err := os.ReadFile(one(f, dir, "*.sst"))
	if err != nil {
		f.Fatal(err)
	}
	if err := inspectTable(b, nil); err != nil {
		f.Fatal(err)
	}
	f.Add(b[len(b)-min(len(b), 400):])
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if inspectTable(b, nil) == nil && len(b) < 8 {
			t.Errorf("%x is a table", b)
		}
		_, _ = blocksOf(b)
	})
}

func FuzzEntryLength(f *testing.F) {
	f.Add([]byte{0, 0, 3, 5, 0})
	f.Add(binary.AppendUvarint(binary.AppendUvarint([]byte{1, 2}, 1<<40), 1<<40))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, end := entryLength(b)
		if n < -1 || end && n != 0 || n > 1<<32+1<<17 || !end && n >= 0 && n < 9 {
			t.Errorf("%x: %d, %t", b, n, end)
		}
	})
}
