package kv

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/percached/percached/internal/base/fault"
)

func small() Options {
	o := Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 1<<20, 0
	return o
}

func make1(t *testing.T, dir, value string) {
	t.Helper()
	db, err := Open(dir, small())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(func(tx *Tx) error { return tx.Set([]byte("k"), []byte(value)) }), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// After each step of a swap a crash leaves the old database or the new one,
// whole, and nothing beside it.
func TestCrashInSwap(t *testing.T) {
	for n := range len(swapSteps("x")) + 2 {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			make1(t, dir, "old")
			make1(t, dir+nextSuffix, "new")
			want := "old"
			for i, step := range swapSteps(dir) {
				if i >= n {
					break
				}
				if err := step(); err != nil {
					t.Fatal(err)
				}
				want = "new"
			}
			if n > len(swapSteps(dir)) { // half removed
				os.Remove(filepath.Join(dir+lastSuffix, "MANIFEST"))
			}
			holds(t, dir, want)
		})
	}
}

// Leftovers that a crash before the first step, or somebody else, can leave.
func TestLeftovers(t *testing.T) {
	for _, tc := range []struct {
		name            string
		here, next, old string
		want            string // "" is empty
	}{
		{"nothing", "", "", "", ""},
		{"all three", "here", "next", "old", "here"},
		{"unfinished copy", "here", "broken", "", "here"},
		{"unfinished copy of what is gone", "", "broken", "", ""},
		{"the old one alone", "", "", "old", "old"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			for path, value := range map[string]string{dir: tc.here, dir + nextSuffix: tc.next, dir + lastSuffix: tc.old} {
				if value != "" {
					make1(t, path, value)
				}
				if value == "broken" {
					if err := os.Truncate(filepath.Join(path, "MANIFEST"), 3); err != nil {
						t.Fatal(err)
					}
				}
			}
			holds(t, dir, tc.want)
		})
	}
}

func holds(t *testing.T, dir, want string) {
	t.Helper()
	db, err := Open(dir, small())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.View(func(tx *Tx) error {
		v, err := tx.Get([]byte("k"))
		if fault.KindOf(err) == fault.NotFound && want == "" {
			return nil
		}
		if string(v) != want {
			t.Errorf("%q, want %q", v, want)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if got, _ := filepath.Glob(dir + ".*"); got != nil {
		t.Errorf("left beside it: %q", got)
	}
}

func TestRewriteOnFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	make1(t, dir, "old")
	db, err := Open(dir, small())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.o.MinFree = 1 << 60
	if err := db.Rewrite(context.Background(), nil); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	db.o.MinFree = 0
	if err := db.Update(func(tx *Tx) error { return tx.Set([]byte("k"), []byte("newer")) }); err != nil {
		t.Error(err)
	}
	if err := db.Rewrite(context.Background(), nil); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	holds(t, dir, "newer")
}

// If the copy cannot be put in place, the old database goes on.
func TestRewriteCannotSwap(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	make1(t, dir, "old")
	db, err := Open(dir, small())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, spoil := range []func() error{
		func() error { return os.RemoveAll(dir + nextSuffix) },
		func() error { return os.Truncate(filepath.Join(dir+nextSuffix, "MANIFEST"), 3) },
	} {
		make1(t, dir+nextSuffix, "new")
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if err := db.replace(); fault.KindOf(err) != fault.Unavailable {
			t.Error(err)
		}
		os.RemoveAll(dir + nextSuffix)
		if err := db.View(func(tx *Tx) error {
			v, err := tx.Get([]byte("k"))
			if string(v) != "old" {
				t.Errorf("%q", v)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	holds(t, dir, "old")
}

// A crash between the renames of a swap is completed behind a link, too, which leads nowhere then.
func TestCrashInSwapBehindLink(t *testing.T) {
	for name, to := range map[string]func(at string) string{
		"absolute": func(at string) string { return filepath.Join(at, "big") },
		"relative": func(string) string { return "big" },
	} {
		t.Run(name, func(t *testing.T) {
			at := t.TempDir()
			folder, link := filepath.Join(at, "big"), filepath.Join(at, "meta")
			make1(t, folder, "old")
			make1(t, folder+nextSuffix, "new")
			if err := errors.Join(os.Symlink(to(at), link), os.Rename(folder, folder+lastSuffix)); err != nil {
				t.Fatal(err)
			}
			if !Exists(link) {
				t.Error("it is said to be missing")
			}
			db, err := Open(link, small())
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if err := db.View(func(tx *Tx) error {
				v, err := tx.Get([]byte("k"))
				if string(v) != "new" {
					t.Errorf("it holds %q", v)
				}
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A link that leads nowhere is no place for a new database: its disk may not be mounted.
func TestOpenBehindLinkToNothing(t *testing.T) {
	at := t.TempDir()
	link, nothing := filepath.Join(at, "meta"), filepath.Join(at, "disk", "meta")
	if err := os.Symlink(nothing, link); err != nil {
		t.Fatal(err)
	}
	if db, err := Open(link, small()); err == nil {
		t.Error("it opened a new database", db.Close())
	}
	if pathExists(filepath.Dir(nothing)) {
		t.Error("it made a folder where the link leads")
	}
}
