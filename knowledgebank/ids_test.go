package knowledgebank

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// publicly returns a document's internal and public id in a space.
func publicly(t *testing.T, b *Bank, space, key string) (own, public percached.DocumentID) {
	t.Helper()
	ids, err := b.PublicIDs(space)
	if err != nil {
		t.Fatal(err)
	}
	own = percached.NewDocumentID(key)
	if public = ids.Document(own); ids.DocumentOf(public) != own {
		t.Error("it does not lead back")
	}
	return own, public
}

// The same document has a different public id in every space. It stays as long as the
// space exists, and changes if the space is created again.
func TestPublicIDsDiffer(t *testing.T) {
	b, db := newBank(t)
	create(t, b, "other")
	own, here := publicly(t, b, "home", "a")
	_, there := publicly(t, b, "other", "a")
	if here == there || here == own || there == own {
		t.Error(own, here, there)
	}
	if _, err := b.Delete(context.Background(), "home", own); err == nil || strings.Contains(err.Error(), own.String()) || !strings.Contains(err.Error(), here.String()) {
		t.Error("an error names it otherwise:", err)
	}
	if _, err := b.Document("home", own); err == nil || strings.Contains(err.Error(), own.String()) || !strings.Contains(err.Error(), here.String()) {
		t.Error("an error names it otherwise:", err)
	}
	add(t, b, "home", note("a", "One."))
	b = openBank(t, db)
	if _, again := publicly(t, b, "home", "a"); again != here {
		t.Error("they change")
	}
	if _, _, err := b.DeleteSpace("home"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.PublicIDs("home"); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	create(t, b, "home")
	if _, again := publicly(t, b, "home", "a"); again == here {
		t.Error("those of the former life are back")
	}
}

// A space of an earlier release has no secret; its ids stay as they were.
func TestNoPublicIDsBefore(t *testing.T) {
	b, db := newBank(t)
	add(t, b, "home", note("a", "One."))
	_, r, err := b.find("test", "home")
	if err != nil {
		t.Fatal(err)
	}
	before := *r
	before.Secret = false
	key := newSpaceID("home").key(spaceType)
	if err := db.Update(func(tx *kv.Tx) error {
		return errors.Join(tx.Delete(newSpaceID("home").key(secretType)), tx.Set(key, seal(key, before.encode())))
	}); err != nil {
		t.Fatal(err)
	}
	b = openBank(t, db)
	add(t, b, "home", note("b", "Two."))
	if own, public := publicly(t, b, "home", "a"); own != public {
		t.Error(own, public)
	}
	verify(t, b, "home")
}

// A damaged space keeps its ids unless their secret is damaged or lost: then the space
// is refused until it is created again, and gets new ids.
func TestPublicIDsAfterDamage(t *testing.T) {
	for _, tc := range []struct {
		name string
		hurt func(t *testing.T, db *kv.DB)
		stay bool
	}{
		{"the space", func(t *testing.T, db *kv.DB) { spoil(t, db, newSpaceID("home").key(spaceType)) }, true},
		{"the secret", func(t *testing.T, db *kv.DB) { spoil(t, db, newSpaceID("home").key(secretType)) }, false},
		{"no secret", func(t *testing.T, db *kv.DB) {
			if err := db.Update(func(tx *kv.Tx) error { return tx.Delete(newSpaceID("home").key(secretType)) }); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		b, db := newBank(t)
		add(t, b, "home", note("a", "One."))
		own, before := publicly(t, b, "home", "a")
		tc.hurt(t, db)
		b = openBank(t, db)
		if _, err := b.PublicIDs("home"); fault.KindOf(err) != fault.Internal {
			t.Error(tc.name, err)
		}
		create(t, b, "home")
		if _, after := publicly(t, b, "home", "a"); (after == before) != tc.stay || after == own {
			t.Error(tc.name, before, after)
		}
		if _, err := b.Document("home", own); err != nil {
			t.Error(err)
		}
		verify(t, b, "home")
	}
}
