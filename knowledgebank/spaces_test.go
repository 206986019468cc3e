package knowledgebank

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

func TestSpaces(t *testing.T) {
	b, db := newBank(t)
	for _, name := range []string{"", "A", "-a", "a/b", "a b", "ä", strings.Repeat("a", 65), "a\n"} {
		wantKind(t, fault.Invalid, b.CreateSpace(percached.Space{Name: name, Kind: "notes"}))
	}
	wantKind(t, fault.Invalid, b.CreateSpace(percached.Space{Name: "a", Kind: "letters"}))
	wantKind(t, fault.Conflict, b.CreateSpace(percached.Space{Name: "home", Kind: "emails"}))
	create(t, b, "home")
	k := 5
	mail := percached.Space{Name: "0.mail-box_" + strings.Repeat("a", 50), Kind: "emails"}
	if err := b.CreateSpace(mail); err != nil {
		t.Fatal(err)
	}
	mail.Settings.K = &k
	if err := b.Configure(mail.Name, mail.Settings); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := b.Spaces()
		if d := cmp.Diff([]percached.Space{mail, {Name: "home", Kind: "notes"}}, got); err != nil || d != "" {
			t.Error(err, d)
		}
		one, err := b.Space(mail.Name)
		if d := cmp.Diff(mail, one); err != nil || d != "" {
			t.Error(err, d)
		}
		b = openBank(t, db)
	}
	_, err := b.Space("away")
	wantKind(t, fault.NotFound, err)
	wantKind(t, fault.NotFound, b.Configure("away", percached.Settings{}))
}

func TestSpacesArePartitions(t *testing.T) {
	b, _ := newBank(t)
	create(t, b, "other")
	c := add(t, b, "home", note("a", "One."))
	if _, err := b.Document("other", c.Document); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	if got, err := b.Chunks("other", c.New); err != nil || len(got) > 0 {
		t.Error(got, err)
	}
	if c := add(t, b, "other", note("a", "One.")); c.State != Added || c.Seq != 1 {
		t.Error(c)
	}
	if docs, chunks, err := b.DeleteSpace("home"); err != nil || docs != 1 || chunks != 1 {
		t.Error(docs, chunks, err)
	}
	if got, err := b.Chunks("other", c.New); err != nil || len(got) != 1 {
		t.Error(got, err)
	}
	verify(t, b, "other")
}

// A space that is created again continues its count: versions of its earlier life are
// never taken for new ones.
func TestSpaceAgain(t *testing.T) {
	b, db := newBank(t)
	add(t, b, "home", long("a", 1, 30_000))
	add(t, b, "home", note("b", "One."))
	if _, _, err := b.DeleteSpace("home"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := b.Space("home")
		wantKind(t, fault.NotFound, err)
		_, _, err = b.DeleteSpace("home")
		wantKind(t, fault.NotFound, err)
		if d := cmp.Diff([]string(nil), names(t, b)); d != "" {
			t.Error(d)
		}
		keys := 0
		if err := db.View(func(tx *kv.Tx) error {
			return tx.Keys([]byte{owner}, func([]byte, int64) error { keys++; return nil })
		}); err != nil || keys != 1 {
			t.Error(keys, "keys are left", err)
		}
		b = openBank(t, db)
	}
	if err := b.CreateSpace(percached.Space{Name: "home", Kind: "emails"}); err != nil {
		t.Fatal(err)
	}
	if c := add(t, b, "home", note("b", "One.")); c.Seq != 4 {
		t.Error(c)
	}
	verify(t, b, "home")
	_, _, err := b.Changes("home", 2, func(percached.Chunk) error { return nil })
	wantKind(t, fault.Conflict, err)
}

// Opening the bank finishes a deletion that a crash interrupted.
func TestCrashInDeletion(t *testing.T) {
	b, db := newBank(t)
	add(t, b, "home", long("a", 1, 3000))
	sp, writes := planned(t, b, long("b", 1, 3000))
	rows, err := b.writeJournal(t.Context(), sp, writes)
	if err != nil {
		t.Fatal(err)
	}
	mark := sp.id.key(markType)
	key := sp.id.key(spaceType)
	if err := db.Update(func(tx *kv.Tx) error {
		return errors.Join(
			tx.Set(mark, seal(mark, binary.AppendUvarint(nil, uint64(rows)))),
			tx.Set(key, seal(key, (&spaceRecord{Seq: 2, Trimmed: 2}).encode())),
		)
	}); err != nil {
		t.Fatal(err)
	}
	openBank(t, db)
	if err := db.View(func(tx *kv.Tx) error {
		return tx.Keys([]byte{owner}, func(k []byte, _ int64) error {
			if !bytes.Equal(k, key) {
				t.Errorf("left over: %q", k)
			}
			return nil
		})
	}); err != nil {
		t.Error(err)
	}
}

// After a deletion, no text stays under any key.
func TestDeletedTextIsGone(t *testing.T) {
	b, db := newBank(t)
	const canary = "zanzibarquartz"
	add(t, b, "home", note("kept", "This is kept."))
	for i, s := range []*Source{
		note("a", canary),
		{Key: canary, Title: canary, Path: canary, Source: canary, Blocks: []Block{{Speaker: canary, Text: canary}}},
		long("c", 1, 40_000),
		note("kept", canary),
	} {
		if i == 2 {
			s.Title = canary
		}
		c := add(t, b, "home", s)
		if i == 3 {
			add(t, b, "home", note("kept", "This is kept, again."))
		} else if _, err := b.Delete(context.Background(), "home", c.Document); err != nil {
			t.Fatal(err)
		}
	}
	err := db.View(func(tx *kv.Tx) error {
		return tx.Keys(nil, func(k []byte, _ int64) error {
			v, err := tx.Get(k)
			if bytes.Contains(v, []byte(canary)) || bytes.Contains(k, []byte(canary)) {
				t.Errorf("it is in %q", k)
			}
			if k[1] == goneType && len(v) != 5 {
				t.Errorf("a tombstone of %d bytes", len(v))
			}
			return err
		})
	})
	if err != nil {
		t.Error(err)
	}
	verify(t, b, "home")
}
