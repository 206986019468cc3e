package kv_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/kv"
)

// A copy that applies only what changed equals the database, whatever was written, deleted,
// rewritten, reclaimed and returned in between.
func TestChanges(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"), options())
	rng := rand.New(rand.NewPCG(1, 2))
	set(t, db, "before", []byte("x"))
	if _, all, err := take(db, nil); err != nil || all != nil {
		t.Fatal("the first time any key may have changed:", all, err)
	}
	copied := content(t, db)
	for round := range 40 {
		for range rng.IntN(12) {
			k := fmt.Sprintf("k%02d", rng.IntN(30))
			switch rng.IntN(4) {
			case 0:
				remove(t, db, k)
			case 1:
				set(t, db, k, large(byte(round), 40<<10)) // in the value log
			default:
				set(t, db, k, fmt.Appendf(nil, "%d", round))
			}
		}
		switch rng.IntN(5) {
		case 0:
			if err := db.Rewrite(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
		case 1:
			if err := db.Reclaim(context.Background()); err != nil {
				t.Fatal(err)
			}
		case 2: // a backup that failed
			_, c, err := take(db, nil)
			if err != nil {
				t.Fatal(err)
			}
			db.ReturnChanges(c)
			continue
		}
		changed := map[string][]byte{}
		if _, c, err := take(db, changed); err != nil || c == nil {
			t.Fatal(c, err)
		}
		want := content(t, db)
		for k, v := range changed {
			if v == nil {
				delete(copied, k)
				continue
			}
			copied[k] = want[k]
		}
		if diff := cmp.Diff(want, copied); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
	}
}

// take takes the changes and puts them into to; a deleted key is nil.
func take(db *kv.DB, to map[string][]byte) (int, *kv.Changes, error) {
	s, c, err := db.TakeChanges()
	if err != nil {
		return 0, nil, err
	}
	defer s.Close()
	if to == nil || c == nil {
		return 0, c, nil
	}
	return c.Len(), c, s.EachChange(c, func(k, v []byte, deleted bool) error {
		to[string(k)] = bytes.Clone(v)
		if deleted {
			to[string(k)] = nil
		} else if v == nil {
			to[string(k)] = []byte{}
		}
		return nil
	})
}

// Where too many keys changed, nobody knows which, until they are taken again.
func TestTooManyChanges(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"), options())
	if _, _, err := take(db, nil); err != nil {
		t.Fatal(err)
	}
	long := bytes.Repeat([]byte("k"), 32<<10)
	for i := range 120 { // a transaction has its own limit
		if err := db.Update(func(tx *kv.Tx) error {
			for j := range 10 {
				if err := tx.Delete(append(long[:len(long):len(long)], byte(i), byte(j))); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []bool{false, true} {
		if _, c, err := take(db, nil); err != nil || (c != nil) != want {
			t.Errorf("time %d: %v %v", i, c, err)
		}
	}
	db.ReturnChanges(nil)
	if _, c, err := take(db, nil); err != nil || c != nil {
		t.Errorf("%v %v", c, err)
	}
}
