package knowledgebank

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// spoil damages a record.
func spoil(t *testing.T, db *kv.DB, key []byte) {
	t.Helper()
	if err := db.Update(func(tx *kv.Tx) error {
		v, err := tx.Get(key)
		if err != nil {
			return err
		}
		v = slices.Clone(v)
		v[len(v)/2] ^= 0x20
		return tx.Set(key, v)
	}); err != nil {
		t.Fatal(err)
	}
}

// Damage is reported with the document's name and affects nothing else. Adding or
// deleting the document repairs it.
func TestDamage(t *testing.T) {
	ctx := context.Background()
	home := newSpaceID("home")
	hurt := percached.NewDocumentID("hurt")
	for _, c := range []struct {
		name string
		key  func(d percached.Document) []byte
		whole,
		listed bool // the document's record can be read
	}{
		{"a document", func(d percached.Document) []byte { return home.document(d.ID) }, false, false},
		{"a page", func(d percached.Document) []byte { return home.page(d.ID, 0) }, false, false},
		{"a chunk", func(d percached.Document) []byte { return home.chunk(d.Chunks[2]) }, true, true},
	} {
		for _, mend := range []string{"add", "delete", "replace"} {
			t.Run(c.name+", then "+mend, func(t *testing.T) {
				b, db := newBank(t)
				var told []error
				b.o.Observer.Damaged = func(err error) { told = append(told, err) }
				b.o.ChunkWords = 20
				words := 3000
				if c.name == "a page" {
					words = 24_000 // enough for a page
				}
				s := long("hurt", 1, words)
				chunks := add(t, b, "home", s).New
				twin := long("twin", 1, words)
				twin.Title = s.Title
				add(t, b, "home", twin)
				kept := add(t, b, "home", note("kept", "This is kept.")).Document
				_, public := publicly(t, b, "home", "hurt")
				doc, err := b.Document("home", hurt)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := b.Delete(ctx, "home", percached.NewDocumentID("twin")); err != nil {
					t.Fatal(err)
				}
				spoil(t, db, c.key(doc))

				_, err = b.Document("home", hurt)
				if (err == nil) != c.listed || err != nil && (fault.KindOf(err) != fault.Internal || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), public.String())) {
					t.Error(err)
				}
				if _, err := b.Document("home", kept); err != nil {
					t.Error(err)
				}
				docs, err := b.Documents("home", percached.DocumentID{}, 10)
				if (err == nil) != c.listed || len(docs) != 1+count(c.listed) {
					t.Error(len(docs), err)
				}
				got, err := b.Chunks("home", chunks)
				if whole := len(got) == len(chunks); (err == nil) != whole || whole == c.whole || err != nil && !strings.Contains(err.Error(), public.String()) {
					t.Error(len(got), len(chunks), err)
				}
				live := 0
				gone, _, err := b.Changes("home", 0, func(percached.Chunk) error { live++; return nil })
				if err != nil || live != len(got)+1 || len(told) != len(chunks)-len(got) || len(gone) != len(told) {
					t.Error(live, len(gone), told, err)
				}

				switch mend {
				case "add":
					if change := add(t, b, "home", s); change.State != Replaced || len(change.New) != len(chunks)-len(got) || change.Gone != nil {
						t.Error(change.State, len(change.New), len(change.Gone))
					}
				case "replace":
					if change := add(t, b, "home", note("hurt", "Short.")); change.State != Replaced || len(change.Gone) != len(chunks) {
						t.Error(change.State, len(change.Gone))
					}
				case "delete":
					if change, err := b.Delete(ctx, "home", hurt); err != nil || len(change.Gone) != len(chunks) {
						t.Error(len(change.Gone), err)
					}
				}
				verify(t, b, "home")
				verify(t, openBank(t, db), "home")
			})
		}
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A damaged chunk of two documents is repaired by adding either one again.
func TestDamagedSharedChunk(t *testing.T) {
	b, db := newBank(t)
	id := add(t, b, "home", note("a", "The same.")).New[0]
	add(t, b, "home", note("b", "The same."))
	spoil(t, db, newSpaceID("home").chunk(id))
	if c := add(t, b, "home", note("b", "The same.")); c.State != Replaced || !slices.Equal(c.New, []percached.ChunkID{id}) || c.Seq != 3 {
		t.Error(c)
	}
	verify(t, b, "home")
	spoil(t, db, newSpaceID("home").chunk(id))
	if c, err := b.Delete(context.Background(), "home", percached.NewDocumentID("b")); err != nil || c.Gone != nil {
		t.Error(c, err)
	}
	add(t, b, "home", note("a", "The same."))
	verify(t, b, "home")
}

func TestDamagedSpace(t *testing.T) {
	b, db := newBank(t)
	create(t, b, "other")
	add(t, b, "home", long("a", 1, 3000))
	seq, _ := b.Seq("home")
	for _, name := range []string{"home", "other"} {
		spoil(t, db, newSpaceID(name).key(spaceType))
	}
	b = openBank(t, db)
	_, err := b.Add(context.Background(), "home", note("a", "One."))
	wantKind(t, fault.Internal, err)
	_, err = b.Seq("home")
	wantKind(t, fault.Internal, err)
	if spaces, err := b.Spaces(); err != nil || len(spaces) != 0 {
		t.Error(spaces, err)
	}
	create(t, b, "home")
	verify(t, b, "home")
	now, err := b.Seq("home")
	if err != nil || now <= seq {
		t.Error(now, err)
	}
	_, _, err = b.Changes("home", seq, func(percached.Chunk) error { return nil })
	wantKind(t, fault.Conflict, err)
	if _, _, err := b.DeleteSpace("other"); err != nil {
		t.Error(err)
	}
	_, err = b.Space("other")
	wantKind(t, fault.NotFound, err)
	if d := cmp.Diff([]string{"home"}, names(t, openBank(t, db))); d != "" {
		t.Error(d)
	}
}

func names(t *testing.T, b *Bank) []string {
	t.Helper()
	spaces, err := b.Spaces()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range spaces {
		names = append(names, s.Name)
	}
	return names
}
