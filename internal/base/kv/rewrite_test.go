package kv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// find gives the files beside and below dir that hold one of the needles.
func find(t *testing.T, dir string, needles ...string) []string {
	t.Helper()
	var found []string
	if err := filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, n := range needles {
			if bytes.Contains(b, []byte(n)) {
				found = append(found, n+" in "+filepath.Base(path))
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

func set(t *testing.T, db *kv.DB, k string, v []byte) {
	t.Helper()
	if err := db.Update(func(tx *kv.Tx) error { return tx.Set([]byte(k), v) }); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, db *kv.DB, k string) {
	t.Helper()
	if err := db.Update(func(tx *kv.Tx) error { return tx.Delete([]byte(k)) }); err != nil {
		t.Fatal(err)
	}
}

// content is every key with the length and the sum of the bytes of its value.
func content(t *testing.T, db *kv.DB) map[string]string {
	t.Helper()
	m := map[string]string{}
	if err := db.View(func(tx *kv.Tx) error {
		return tx.Each(nil, func(k, v []byte) error {
			sum := 0
			for _, c := range v {
				sum = sum*31 + int(c)
			}
			m[string(k)] = fmt.Sprintf("%d/%x", len(v), sum)
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRewriteLeavesNoTrace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := open(t, dir, options())
	secret := func(name string, n int) []byte {
		return append(append(large(3, n), name...), large(4, n)...)
	}
	needles := []string{"CANARY-small", "CANARY-large", "CANARY-gone", "CANARY-key", "CANARY-aside"}
	set(t, db, "small", secret("CANARY-small", 100))
	set(t, db, "large", secret("CANARY-large", 100<<10))
	set(t, db, "gone", secret("CANARY-gone", 50<<10))
	set(t, db, "CANARY-key", []byte("x"))
	fill(t, db, 10, 1<<20) // several files
	set(t, db, "small", []byte("new"))
	set(t, db, "large", large(9, 40<<10))
	remove(t, db, "gone")
	remove(t, db, "CANARY-key")
	fill(t, db, 5, 1<<20)
	if err := os.MkdirAll(dir+".aside", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir+".aside", "1"), []byte("CANARY-aside"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := content(t, db)
	if got := find(t, dir, needles...); len(got) < len(needles) {
		t.Fatalf("the canaries were not written where they are looked for: %q", got)
	}
	var last, total int64
	if err := db.Rewrite(context.Background(), func(d, n int64) {
		if d < last || d > n {
			t.Errorf("progress %d of %d after %d", d, n, last)
		}
		last, total = d, n
	}); err != nil {
		t.Fatal(err)
	}
	if last != total || total < 10<<20 {
		t.Errorf("progress ended at %d of %d", last, total)
	}
	for range 2 {
		if got := find(t, dir, needles...); got != nil {
			t.Errorf("found %q", got)
		}
		if d := cmp.Diff(want, content(t, db)); d != "" {
			t.Error(d)
		}
		if got, _ := filepath.Glob(dir + ".*"); got != nil {
			t.Errorf("left beside it: %q", got)
		}
		db.Close()
		db = open(t, dir, options())
	}
}

// A transaction that is open while Rewrite runs keeps its memory and its view,
// may write, and may open others; what it writes is kept.
func TestRewriteWaitsForReaders(t *testing.T) {
	db := open(t, t.TempDir(), options())
	fill(t, db, 6, 1<<20)
	done, copied := make(chan error, 1), make(chan struct{})
	err := db.View(func(tx *kv.Tx) error {
		lent, err := tx.Lend(key(0))
		if err != nil {
			return err
		}
		go func() {
			done <- db.Rewrite(context.Background(), func(d, n int64) {
				if d == n {
					close(copied)
				}
			})
		}()
		<-copied
		for i := range 12 {
			set(t, db, fmt.Sprintf("late%d", i), large(7, 1<<20))
		}
		remove(t, db, string(key(1)))
		set(t, db, string(key(2)), []byte("late"))
		select {
		case err := <-done:
			t.Error("did not wait:", err)
		default:
		}
		if !bytes.Equal(lent, large(0, 1<<20)) {
			t.Error("a lent value changed")
		}
		_, err = tx.Lend(key(1))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got := content(t, db)
	if len(got) != 6-1+12 || got[string(key(2))][:2] != "4/" {
		t.Errorf("%d keys: %v", len(got), got)
	}
}

func TestRewriteGivesUp(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, options())
	fill(t, db, 6, 1<<20)
	want := content(t, db)
	check := func(err error, kind fault.Kind) {
		t.Helper()
		if fault.KindOf(err) != kind {
			t.Errorf("%v, want %v", err, kind)
		}
		if d := cmp.Diff(want, content(t, db)); d != "" {
			t.Error(d)
		}
		if got, _ := filepath.Glob(dir + ".*"); got != nil {
			t.Errorf("left beside it: %q", got)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	check(db.Rewrite(ctx, func(d, _ int64) {
		if d > 2<<20 {
			cancel()
		}
	}), fault.Timeout)
	ctx, cancel = context.WithCancel(context.Background())
	if err := db.View(func(tx *kv.Tx) error { // in a transaction of one's own
		check(db.Rewrite(ctx, func(d, n int64) {
			if d == n {
				cancel()
			}
		}), fault.Timeout)
		return nil
	}); err != nil {
		t.Error(err)
	}
	check(db.Rewrite(context.Background(), nil), 0)
	db.Close()
	if err := db.Rewrite(context.Background(), nil); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
}

// A value that cannot be read is left out where data may be lost, and stops
// Rewrite where it may not.
func TestRewriteOfDamage(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, options())
	for i := range 6 {
		set(t, db, string(key(i)), large(1, 1<<20))
	}
	flip(t, filepath.Join(dir, "000001.vlog"), 5000)
	if err := db.Rewrite(context.Background(), nil); !errors.Is(err, kv.ErrDamaged) {
		t.Error(err)
	}
	db.Close()
	o := options()
	o.Disposable = true
	db = open(t, dir, o)
	if err := db.Rewrite(context.Background(), nil); err != nil {
		t.Error(err)
	}
	if got := content(t, db); len(got) != 5 || got[string(key(0))] != "" {
		t.Errorf("%v", got)
	}
}

// Many at work while it is rewritten again and again: nothing is lost.
func TestRewriteAmongOthers(t *testing.T) {
	db := open(t, t.TempDir(), options())
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(w)))
			mine := map[string][]byte{}
			// On a single processor writing can be faster than rewriting, and must end all the same.
			for n := 0; n < 50 || n < 2000 && ctx.Err() == nil; n++ {
				k := fmt.Sprintf("w%d/%d", w, rnd.IntN(20))
				switch rnd.IntN(4) {
				case 0:
					delete(mine, k)
					remove(t, db, k)
				case 1:
					mine[k] = large(byte(n), 40<<10)
					b := db.Bulk()
					if err := errors.Join(b.Set([]byte(k), mine[k]), b.Flush()); err != nil {
						t.Error(err)
					}
				case 2:
					mine[k] = fmt.Appendf(nil, "value %d", n)
					set(t, db, k, mine[k])
				case 3:
					if err := db.View(func(tx *kv.Tx) error {
						v, err := tx.Lend([]byte(k))
						if want, ok := mine[k]; !ok && fault.KindOf(err) == fault.NotFound {
							return nil
						} else if !bytes.Equal(v, want) {
							t.Errorf("%s: another value", k)
						}
						return err
					}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for range 5 {
		if err := db.Rewrite(context.Background(), nil); err != nil {
			t.Error(err)
		}
		if err := db.Reclaim(context.Background()); err != nil {
			t.Error(err)
		}
		if _, err := db.Size(); err != nil {
			t.Error(err)
		}
	}
	cancel()
	wg.Wait()
}

// What was deleted while a transaction was open can be reclaimed afterwards.
func TestReclaimAfterReaders(t *testing.T) {
	db := open(t, t.TempDir(), options())
	fill(t, db, 40, 1<<20)
	if err := db.View(func(tx *kv.Tx) error {
		if _, err := tx.Lend(key(1)); err != nil {
			return err
		}
		for i := range 40 {
			remove(t, db, string(key(i)))
		}
		return db.Reclaim(context.Background())
	}); err != nil {
		t.Fatal(err)
	}
	for i := range 4 { // so that the newest file is another; apart from all others
		set(t, db, fmt.Sprint("z", i), large(1, 1<<20))
	}
	if err := db.Reclaim(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n, err := db.Size(); err != nil || n > 12<<20 {
		t.Errorf("4 MiB are alive, %d bytes on disk; %v", n, err)
	}
}

// A Snapshot may last for hours: a Rewrite does not wait for its end, whenever it was
// taken, as others may wait for the Rewrite.
func TestRewriteGivesWayToSnapshots(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, options())
	fill(t, db, 3, 1<<20)
	want := content(t, db)
	take := func() *kv.Snapshot {
		t.Helper()
		s, err := db.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	gaveWay := func(err error) {
		t.Helper()
		if fault.KindOf(err) != fault.Conflict {
			t.Errorf("%v, want a conflict", err)
		}
		if got, _ := filepath.Glob(dir + ".*"); got != nil {
			t.Errorf("left beside it: %q", got)
		}
	}
	before := take()
	gaveWay(db.Rewrite(ctx, func(int64, int64) { t.Error("it copies") }))
	before.Close()

	var during *kv.Snapshot
	gaveWay(db.Rewrite(ctx, func(done, total int64) {
		if done == total {
			during = take()
		}
	}))
	during.Close()

	// It waits already, for a reader.
	copied, got := make(chan struct{}), make(chan error, 1)
	if err := db.View(func(*kv.Tx) error {
		go func() {
			got <- db.Rewrite(ctx, func(done, total int64) {
				if done == total {
					close(copied)
				}
			})
		}()
		<-copied
		defer take().Close()
		gaveWay(<-got)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Rewrite(ctx, nil); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(want, content(t, db)); d != "" {
		t.Error(d)
	}
}
