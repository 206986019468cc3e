package ingest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

func allow() error { return nil }

// exported returns the records of an export of documents, by ascending key.
func (w *world) exported() (records [][2][]byte) {
	w.Helper()
	w.ok(w.ExportDocuments(w.Context(), space, func(key, value []byte) error {
		if n := len(records); n > 0 && string(records[n-1][0]) >= string(key) {
			w.Error("the keys are not in order")
		}
		records = append(records, [2][]byte{key, value})
		return nil
	}))
	return records
}

// update reads records into the copy.
func (w *world) update(records [][2][]byte, allowed func() error) error {
	u := w.BeginCopyUpdate(space, allowed)
	for _, r := range records {
		if err := u.Set(w.Context(), r[0], r[1]); err != nil {
			return err
		}
	}
	return u.Commit(w.Context())
}

func (w *world) digest() string {
	w.Helper()
	d, err := w.DocumentsDigest(w.Context(), space)
	w.ok(err)
	return d
}

// A copy becomes equal to its writer, with documents of many parts and odd dates, but without
// facts. What was made from deleted and from replaced documents is forgotten.
func TestUpdateCopy(t *testing.T) {
	a, b := newWorld(t), newWorld(t)
	var long strings.Builder
	for i := range 130_000 {
		fmt.Fprintf(&long, "word%d ", i)
		if i%10 == 9 {
			long.WriteString("ends. ")
		}
	}
	odd := note("odd", "An old letter.")
	odd.Date = time.Date(1975, 1, 1, 0, 0, 0, 7, time.FixedZone("", 3601))
	fact := note("fact", "I live in Bergen.")
	fact.Format = "memory" // that of internal/memory
	a.add(note("long", long.String()), odd, fact, note("gone", "The zebra sleeps."), note("changed", "The walrus sings."))
	d, err := a.Knowledge.Document(space, percached.NewDocumentID("long"))
	a.ok(err)
	if len(d.Chunks) <= 1000 {
		t.Fatalf("%d chunks are one part", len(d.Chunks))
	}
	b.add(note("other", "This must go."))
	if a.digest() == b.digest() {
		t.Fatal("the digests are equal")
	}
	b.ok(b.update(a.exported(), allow))
	if a.digest() != b.digest() {
		t.Error("the digests differ")
	}
	if st, err := b.Knowledge.Stats(space); err != nil || st.Documents != 4 {
		t.Errorf("%+v, %v", st, err)
	}
	b.ask("Who sings?", "changed")
	a.add(note("changed", "The otter sings."))
	b.ok(b.update(a.exported(), allow))
	nothing := func() {
		t.Helper()
		if a.digest() != b.digest() {
			t.Error("the digests differ")
		}
		if s := b.stored(); s.Entries != 0 || s.Slices != 0 || s.History != 0 {
			t.Errorf("something is left: %+v", s)
		}
	}
	nothing()
	b.ask("Who sleeps?", "gone")
	_, err = a.Delete(t.Context(), space, percached.NewDocumentID("gone"))
	a.ok(err)
	b.ok(b.update(a.exported(), allow))
	nothing()
	b.ok(b.CleanUp(t.Context(), nil))
	for _, word := range []string{"zebra", "walrus"} {
		if found := b.traces(word); len(found) > 0 {
			t.Errorf("%s: %q", word, found)
		}
	}
}

// An export that ends early deletes nothing, and one that is wrong or not allowed changes nothing.
func TestUpdateCopyRefused(t *testing.T) {
	a, b := newWorld(t), newWorld(t)
	a.add(note("one", "The zebra sleeps."), note("two", "The walrus sings."))
	records := a.exported()
	b.ok(b.update(records, allow))
	before := b.digest()
	a.add(note("one", "The zebra runs."))
	changed := a.exported()
	refused := errors.New("it is no copy any more")
	for name, try := range map[string]func() error{
		"not allowed": func() error { return b.update(changed, func() error { return refused }) },
		"another space": func() error {
			return b.BeginCopyUpdate("t", allow).Set(t.Context(), changed[0][0], changed[0][1])
		},
		"not a document": func() error {
			return b.update([][2][]byte{{changed[0][0], append([]byte{1}, `{"chunks":[]}`...)}}, allow)
		},
		"a document without an end": func() error {
			return b.update([][2][]byte{{changed[0][0], append([]byte{1}, `{"document":{"key":"x"},"chunks":[]}`...)}}, allow)
		},
	} {
		if err := try(); err == nil || !errors.Is(err, refused) && kind(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
		if b.digest() != before {
			t.Errorf("%s: the copy changed", name)
		}
	}
}
