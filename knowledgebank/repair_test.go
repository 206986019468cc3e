package knowledgebank

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// After the loss of any record, Repair makes the space consistent: it keeps whole
// documents and names the others.
func TestRepair(t *testing.T) {
	home := newSpaceID("home")
	b, db := newBank(t)
	b.o.ChunkWords = 20
	add(t, b, "home", long("long", 1, 24_000))
	twin := long("twin", 1, 3000)
	twin.Title = long("long", 1, 24_000).Title
	add(t, b, "home", twin)
	kept := add(t, b, "home", note("kept", "This is kept.")).Document
	gone := add(t, b, "home", note("gone", "This was deleted.")).Document
	if _, err := b.Delete(context.Background(), "home", gone); err != nil {
		t.Fatal(err)
	}
	space, err := b.Space("home")
	if err != nil {
		t.Fatal(err)
	}
	before := map[string][]byte{}
	if err := db.View(func(tx *kv.Tx) error {
		return tx.Each([]byte{owner}, func(k, v []byte) error { before[string(k)] = slices.Clone(v); return nil })
	}); err != nil {
		t.Fatal(err)
	}
	restore := func() {
		t.Helper()
		bulk := db.Bulk()
		err := db.View(func(tx *kv.Tx) error {
			return tx.Keys([]byte{owner}, func(k []byte, _ int64) error {
				if before[string(k)] == nil {
					return bulk.Delete(slices.Clone(k))
				}
				return nil
			})
		})
		for k, v := range before {
			err = errors.Join(err, bulk.Set([]byte(k), v))
		}
		if err := errors.Join(err, bulk.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := b.Repair(space); err != nil || got.Changed || got.Whole != 3 || len(got.Lost) > 0 {
		t.Errorf("of a sound space: %+v, %v", got, err)
	}
	seen := map[byte]int{}
	for key := range before {
		if seen[key[1]]++; seen[key[1]] > 5 || key[1] == goneType {
			continue
		}
		if err := db.Update(func(tx *kv.Tx) error { return tx.Delete([]byte(key)) }); err != nil {
			t.Fatal(err)
		}
		b := openBank(t, db)
		got, err := b.Repair(space)
		if err != nil || !got.Changed {
			t.Fatalf("%q: %+v, %v", key, got, err)
		}
		lost := len(got.Lost)
		switch key[1] {
		case spaceType, liveType, secretType:
			if lost > 0 {
				t.Errorf("%q: %d documents are lost", key, lost)
			}
		default:
			if lost == 0 || key[1] != documentType && got.Lost[0].Title == "" {
				t.Errorf("%q: %+v", key, got.Lost)
			}
		}
		if got.Whole+lost != 3 {
			t.Errorf("%q: %d are whole and %d lost", key, got.Whole, lost)
		}
		if d := []byte(key); !slices.Equal(d, home.document(kept)) && key[1] == documentType {
			if _, err := b.Document("home", kept); err != nil {
				t.Errorf("%q: %v", key, err)
			}
		}
		if _, err := b.Document("home", gone); err == nil {
			t.Errorf("%q: a deleted document is back", key)
		}
		verify(t, b, "home")
		if again, err := b.Repair(space); err != nil || again.Changed {
			t.Errorf("%q: repaired twice: %s, %v", key, cmp.Diff(got, again), err)
		}
		restore()
	}
}

// Documents of a space without a record are counted until somebody names the space.
func TestLostSpace(t *testing.T) {
	b, db := newBank(t)
	add(t, b, "home", note("kept", "This is kept."))
	space, err := b.Space("home")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *kv.Tx) error { return tx.Delete(newSpaceID("home").key(spaceType)) }); err != nil {
		t.Fatal(err)
	}
	b = openBank(t, db)
	if n, err := b.Lost(); n != 1 || err != nil {
		t.Errorf("%d lost, %v", n, err)
	}
	if got, err := b.Repair(percached.Space{Name: space.Name, Kind: space.Kind}); err != nil || got.Whole != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if n, err := b.Lost(); n != 0 || err != nil {
		t.Errorf("%d lost, %v", n, err)
	}
	verify(t, b, "home")
}
