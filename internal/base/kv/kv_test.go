package kv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		fmt.Fprintln(os.Stderr, child(dir))
		os.Exit(1)
	}
	if dir := os.Getenv(flushEnv); dir != "" {
		fmt.Fprintln(os.Stderr, flushing(dir))
		os.Exit(1)
	}
	if dir := os.Getenv(fullEnv); dir != "" {
		if err := writeUntilTold(dir, os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func options() kv.Options {
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 4<<20, 0
	return o
}

func open(t *testing.T, dir string, o kv.Options) *kv.DB {
	t.Helper()
	db, err := kv.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func large(seed byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*31>>3) ^ seed
	}
	return b
}

func key(i int) []byte { return fmt.Appendf(nil, "k%04d", i) }

func fill(t *testing.T, db *kv.DB, n, size int) {
	t.Helper()
	b := db.Bulk()
	defer b.Cancel()
	for i := range n {
		if err := b.Set(key(i), large(byte(i), size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
}

func TestTransactions(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, options())
	want := map[string][]byte{"a/1": []byte("one"), "a/2": large(2, 1<<20), "b/1": {}}
	err := db.Update(func(tx *kv.Tx) error {
		for k, v := range want {
			if err := tx.Set([]byte(k), v); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	undone := errors.New("undone")
	if err := db.Update(func(tx *kv.Tx) error {
		return errors.Join(tx.Set([]byte("a/3"), []byte("x")), undone)
	}); !errors.Is(err, undone) {
		t.Fatal(err)
	}
	for range 2 { // again after a reopening
		err = db.View(func(tx *kv.Tx) error {
			got := map[string][]byte{}
			for k := range want {
				lent, err := tx.Lend([]byte(k))
				if err != nil {
					return err
				}
				copied, err := tx.Get([]byte(k))
				if err != nil {
					return err
				}
				if !bytes.Equal(lent, copied) {
					t.Errorf("%s: lent and copied differ", k)
				}
				got[k] = append([]byte{}, copied...)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			var keys []string
			if err := tx.Each([]byte("a/"), func(k, v []byte) error {
				keys = append(keys, string(k))
				if !bytes.Equal(v, want[string(k)]) {
					t.Errorf("%s: other value", k)
				}
				return nil
			}); err != nil {
				return err
			}
			if d := cmp.Diff([]string{"a/1", "a/2"}, keys); d != "" {
				t.Error(d)
			}
			if ok, err := tx.Has([]byte("a/3")); ok || err != nil {
				t.Error("what was undone is there", err)
			}
			_, err := tx.Get([]byte("none"))
			if fault.KindOf(err) != fault.NotFound {
				t.Error(err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := db.View(nil); fault.KindOf(err) != fault.Unavailable {
			t.Error("closed:", err)
		}
		db = open(t, dir, options())
	}
}

func TestConflict(t *testing.T) {
	db := open(t, t.TempDir(), options())
	set := func(tx *kv.Tx) error { return tx.Set([]byte("a"), []byte("1")) }
	err := db.Update(func(tx *kv.Tx) error {
		if _, err := tx.Has([]byte("a")); err != nil {
			return err
		}
		if err := db.Update(set); err != nil {
			return err
		}
		return tx.Set([]byte("b"), []byte("2"))
	})
	if fault.KindOf(err) != fault.Conflict {
		t.Error(err)
	}
}

// What is lent must stay as it is while files are filled, cut and collected.
func TestLentStays(t *testing.T) {
	db := open(t, t.TempDir(), options())
	fill(t, db, 3, 1<<20)
	err := db.View(func(tx *kv.Tx) error {
		var lent [][]byte
		for i := range 3 {
			v, err := tx.Lend(key(i))
			if err != nil {
				return err
			}
			lent = append(lent, v)
		}
		for round := range 4 {
			fill(t, db, 8, 1<<20)
			if round == 2 {
				for i := range 8 {
					if err := db.Update(func(tx *kv.Tx) error { return tx.Delete(key(i)) }); err != nil {
						return err
					}
				}
			}
			if err := db.Reclaim(context.Background()); err != nil {
				return err
			}
		}
		for i, v := range lent {
			if !bytes.Equal(v, large(byte(i), 1<<20)) {
				t.Errorf("value %d changed while lent", i)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestReclaimGivesSpaceBack(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, options())
	size := func() int64 {
		t.Helper()
		n, err := db.Size()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	fill(t, db, 32, 1<<20)
	fill(t, db, 32, 1<<20)
	full := size()
	if full < 64<<20 {
		t.Fatalf("64 MiB written, %d bytes on disk", full)
	}
	if err := db.Reclaim(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := size(); n > 44<<20 {
		t.Errorf("32 MiB are alive, %d bytes on disk", n)
	}
	for i := range 32 {
		if err := db.Update(func(tx *kv.Tx) error { return tx.Delete(key(i)) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil { // so that no file is the newest
		t.Fatal(err)
	}
	db = open(t, dir, options())
	if err := db.Reclaim(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := size(); n > 1<<20 {
		t.Errorf("nothing is alive, %d bytes on disk", n)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := db.Reclaim(cancelled); fault.KindOf(err) != fault.Timeout {
		t.Error(err)
	}
}

func TestTooMuchAtOnce(t *testing.T) {
	db := open(t, t.TempDir(), options())
	err := db.Update(func(tx *kv.Tx) error {
		return errors.Join(tx.Set(key(1), large(1, 1<<20)), tx.Set(key(2), large(2, 1<<20+1)))
	})
	if fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	b := db.Bulk()
	defer b.Cancel()
	for i := range 20_000 { // many small ones are cut into transactions too
		if err := b.Set(key(i), large(byte(i), 100)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := db.View(func(tx *kv.Tx) error {
		return tx.Keys([]byte("k"), func([]byte, int64) error { n++; return nil })
	}); err != nil || n != 20_000 {
		t.Error(n, err)
	}
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, options())
	fill(t, db, 1, 1<<20)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	o := options()
	o.MinFree = 1 << 60
	if _, err := kv.Open(dir, o); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
}

func TestSecondOpen(t *testing.T) {
	dir := t.TempDir()
	o := options()
	o.Disposable = true
	o.Observer.SetAside = func(string, string, error) { t.Error("set aside while in use") }
	open(t, dir, o)
	if _, err := kv.Open(dir, o); fault.KindOf(err) != fault.Conflict {
		t.Error(err)
	}
}

func TestSetAside(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := open(t, dir, options())
	fill(t, db, 2, 1<<20)
	db.Close()
	if err := os.WriteFile(filepath.Join(dir, "MANIFEST"), []byte("no manifest at all, but long enough"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Open(dir, options()); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	for range 2 { // an earlier one makes room
		o := options()
		o.Disposable = true
		var told []string
		o.Observer.SetAside = func(dir, aside string, cause error) { told = append(told, dir, aside, fmt.Sprint(cause != nil)) }
		db = open(t, dir, o)
		if d := cmp.Diff([]string{dir, dir + ".aside", "true"}, told); d != "" {
			t.Error(d)
		}
		if err := db.View(func(tx *kv.Tx) error {
			return tx.Keys(nil, func(k []byte, _ int64) error { t.Errorf("%q survived", k); return nil })
		}); err != nil {
			t.Error(err)
		}
		db.Close()
		if err := os.WriteFile(filepath.Join(dir, "MANIFEST"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "KEYREGISTRY"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A byte that flips anywhere in the value log of an open database is found, and
// locks nothing. In a closed one it is refused: TestDamage.
func TestFlippedByte(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, options())
	for i := range 6 { // one by one: of several together, badger writes any one first
		if err := db.Update(func(tx *kv.Tx) error { return tx.Set(key(i), large(byte(i), 1<<20)) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range []int64{20, 21, 22, 24, 30, 40, 5000, 1<<20 + 20} {
		flip(t, filepath.Join(dir, "000001.vlog"), at)
		if err := db.View(func(tx *kv.Tx) error {
			_, err := tx.Lend(key(0))
			return err
		}); !errors.Is(err, kv.ErrDamaged) {
			t.Errorf("byte %d: %v", at, err)
		}
		flip(t, filepath.Join(dir, "000001.vlog"), at)
	}
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x40
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

func TestLogHoldsNoContent(t *testing.T) {
	var out bytes.Buffer
	o := options()
	o.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	db := open(t, t.TempDir(), o)
	fill(t, db, 6, 1<<20)
	if err := db.Reclaim(context.Background()); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if out.Len() == 0 || strings.Contains(out.String(), "k000") {
		t.Errorf("log: %.2000s", out.String())
	}
}
