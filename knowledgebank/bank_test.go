package knowledgebank

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC) }

// openDB opens a small database, in which a transaction holds little.
func openDB(t testing.TB, dir string) *kv.DB {
	t.Helper()
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 1<<20, 0
	db, err := kv.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func openBank(t testing.TB, db *kv.DB) *Bank {
	t.Helper()
	o := Default()
	o.Now = clock
	b, err := Open(db, o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// newBank has the space "home".
func newBank(t testing.TB) (*Bank, *kv.DB) {
	t.Helper()
	db := openDB(t, t.TempDir())
	b := openBank(t, db)
	create(t, b, "home")
	return b, db
}

func create(t testing.TB, b *Bank, name string) {
	t.Helper()
	if err := b.CreateSpace(percached.Space{Name: name, Kind: "notes"}); err != nil {
		t.Fatal(err)
	}
}

func add(t testing.TB, b *Bank, space string, s *Source) Change {
	t.Helper()
	c, err := b.Add(context.Background(), space, s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// note is a document of one chunk.
func note(key, text string) *Source {
	return &Source{Key: key, Title: "A note", Format: "text", Path: "notes/" + key, Blocks: []Block{{Text: text}}}
}

// long is a document of many chunks.
func long(key string, seed uint64, words int) *Source {
	return &Source{Key: key, Title: "Long " + key, Format: "text", Date: clock(), Blocks: blocks(prose(seed, words, 6))}
}

func wantKind(t testing.TB, kind fault.Kind, err error) {
	t.Helper()
	if fault.KindOf(err) != kind {
		t.Errorf("%v error, not %v: %v", fault.KindOf(err), kind, err)
	}
}

// verify checks that a space's records agree with each other.
func verify(t testing.TB, b *Bank, name string) {
	t.Helper()
	sp, r, err := b.find("verify", name)
	if err != nil {
		t.Fatal(err)
	}
	err = b.view(sp, func(tx *kv.Tx) error {
		stored, err := readSpace(tx, sp.id)
		if d := cmp.Diff(r, stored, cmpopts.IgnoreUnexported(spaceRecord{})); err != nil || d != "" {
			t.Error("the record in memory is another", err, d)
		} else if some := (percached.ChunkID{1}); r.ids.Chunk(some) != stored.ids.Chunk(some) {
			t.Error("the public ids in memory are others")
		}
		d := newDraft(sp.id, tx, r)
		want := map[string]bool{string(sp.id.key(spaceType)): true}
		if r.ids != (percached.PublicIDs{}) {
			want[string(sp.id.key(secretType))] = true
		}
		holders := map[percached.ChunkID][]percached.DocumentID{}
		words := 0
		ids, err := d.keys(documentType, 16)
		for _, id := range ids {
			doc, err := d.document(percached.DocumentID([]byte(id)))
			if err != nil {
				return err
			}
			words += doc.Words
			want[string(sp.id.document(doc.ID))] = true
			for n := 0; (n+1)*pageIDs < len(doc.Chunks); n++ {
				want[string(sp.id.page(doc.ID, n))] = true
			}
			for _, c := range doc.Chunks {
				if !slices.Contains(holders[c], doc.ID) {
					holders[c] = append(holders[c], doc.ID)
				}
			}
		}
		for id, held := range holders {
			c, err := d.chunk(id)
			if err != nil {
				return err
			}
			if c.ID != percached.NewChunkID(c.Rendered()) {
				t.Errorf("chunk %s has another text", id)
			}
			by := slices.Clone(c.Documents)
			for _, l := range [][]percached.DocumentID{by, held} {
				slices.SortFunc(l, func(a, b percached.DocumentID) int { return slices.Compare(a[:], b[:]) })
			}
			if d := cmp.Diff(held, by); d != "" {
				t.Errorf("chunk %s: %s", id, d)
			}
			want[string(sp.id.chunk(id))] = true
			want[string(sp.id.change(liveType, c.Version, id))] = true
		}
		if d := cmp.Diff(Stats{len(ids), len(holders), words}, Stats{int(r.Documents), int(r.Chunks), int(r.Words)}); d != "" {
			t.Error("sums:", d)
		}
		return errors.Join(err, tx.Keys([]byte{owner}, func(key []byte, _ int64) error {
			if spaceID(key[2:18]) == sp.id && key[1] != goneType && !want[string(key)] {
				t.Errorf("left over: %q", key)
			}
			delete(want, string(key))
			return nil
		}))
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAdd(t *testing.T) {
	b, db := newBank(t)
	s := note("a", "Buy milk. Call Bo.")
	s.Date, s.Notes = time.Date(2025, 2, 4, 9, 0, 0, 0, time.FixedZone("", 3600)), []string{"a picture was not read"}
	c := add(t, b, "home", s)
	id := percached.NewDocumentID("a")
	chunk := percached.Chunk{Version: 1, Head: "### A note (note, Tue 4 February 2025)", Body: "Buy milk. Call Bo.", Documents: []percached.DocumentID{id}}
	chunk.ID = percached.NewChunkID(chunk.Rendered())
	want := Change{Document: id, State: Added, New: []percached.ChunkID{chunk.ID}, Seq: 1}
	if d := cmp.Diff(want, c); d != "" {
		t.Error(d)
	}
	want.State, want.New = Unchanged, nil
	if d := cmp.Diff(want, add(t, b, "home", s)); d != "" {
		t.Error("again:", d)
	}
	s.Path = "elsewhere/a"
	if d := cmp.Diff(want, add(t, b, "home", s)); d != "" {
		t.Error("moved:", d)
	}
	s.File = "sent/a.txt" // where there is a path, that says more
	if d := cmp.Diff(want, add(t, b, "home", s)); d != "" {
		t.Error("moved:", d)
	}
	for range 2 { // again after reopening
		doc, err := b.Document("home", id)
		if d := cmp.Diff(percached.Document{
			ID: id, Key: "a", Title: "A note", Source: "note", Format: "text", Path: "elsewhere/a", Date: s.Date,
			Added: clock(), Words: 4, Chunks: []percached.ChunkID{chunk.ID},
		}, doc); err != nil || d != "" {
			t.Error(err, d)
		}
		if doc.Date.Format(time.RFC3339) != "2025-02-04T09:00:00+01:00" {
			t.Error(doc.Date)
		}
		got, err := b.Chunks("home", []percached.ChunkID{{1}, chunk.ID, {2}, chunk.ID})
		if d := cmp.Diff([]percached.Chunk{chunk, chunk}, got); err != nil || d != "" {
			t.Error(err, d)
		}
		versions, err := b.Versions("home", []percached.ChunkID{{1}, chunk.ID})
		if d := cmp.Diff(map[percached.ChunkID]uint64{chunk.ID: 1}, versions); err != nil || d != "" {
			t.Error(err, d)
		}
		stats, err := b.Stats("home")
		if d := cmp.Diff(Stats{1, 1, 4}, stats); err != nil || d != "" {
			t.Error(err, d)
		}
		verify(t, b, "home")
		b = openBank(t, db)
	}
}

func TestSharedChunk(t *testing.T) {
	b, _ := newBank(t)
	ids := []percached.DocumentID{percached.NewDocumentID("a"), percached.NewDocumentID("b")}
	shared := add(t, b, "home", note("a", "The same.")).New[0]
	c := add(t, b, "home", note("b", "The same."))
	if c.State != Added || c.New != nil || c.Seq != 2 {
		t.Error(c)
	}
	holders := func() []percached.DocumentID {
		chunks, err := b.Chunks("home", []percached.ChunkID{shared})
		if err != nil || len(chunks) != 1 || chunks[0].Version != 1 {
			t.Fatal(chunks, err)
		}
		return chunks[0].Documents
	}
	if d := cmp.Diff(ids, holders()); d != "" {
		t.Error(d)
	}
	c = add(t, b, "home", note("a", "Another."))
	if c.State != Replaced || len(c.New) != 1 || c.Gone != nil {
		t.Error(c)
	}
	if d := cmp.Diff(ids[1:], holders()); d != "" {
		t.Error(d)
	}
	c, err := b.Delete(context.Background(), "home", ids[1])
	if d := cmp.Diff(Change{Document: ids[1], State: Deleted, Gone: []percached.ChunkID{shared}, Seq: 4}, c); err != nil || d != "" {
		t.Error(err, d)
	}
	verify(t, b, "home")
	_, err = b.Delete(context.Background(), "home", ids[1])
	wantKind(t, fault.NotFound, err)
	_, err = b.Document("home", ids[1])
	wantKind(t, fault.NotFound, err)
}

// The unchanged chunks of a changed document keep their version.
func TestReplace(t *testing.T) {
	b, _ := newBank(t)
	s := long("a", 1, 5000)
	was := add(t, b, "home", s)
	b.o.Now = func() time.Time { return clock().Add(time.Hour) }
	s.Blocks = slices.Insert(s.Blocks, 3, Block{Text: "Something new stands here."})
	now := add(t, b, "home", s)
	if now.State != Replaced || len(now.New) == 0 || len(now.New) > 6 || len(now.Gone) == 0 || len(now.Gone) > 6 {
		t.Fatal(now.State, len(now.New), len(now.Gone))
	}
	versions, err := b.Versions("home", append(was.New, now.New...))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range was.New {
		if v, live := versions[id]; live == slices.Contains(now.Gone, id) || live && v != 1 {
			t.Errorf("chunk %s: %v, version %d", id, live, v)
		}
	}
	for _, id := range now.New {
		if versions[id] != 2 {
			t.Errorf("chunk %s: version %d", id, versions[id])
		}
	}
	if d, err := b.Document("home", now.Document); err != nil || !d.Added.Equal(clock()) {
		t.Error(d.Added, err)
	}
	verify(t, b, "home")
	s.Title = "Renamed" // it stands in every chunk
	if c := add(t, b, "home", s); len(c.Gone) != len(was.New)-len(now.Gone)+len(now.New) {
		t.Error(len(c.Gone), "chunks went with the title")
	}
	verify(t, b, "home")
}

func TestNoText(t *testing.T) {
	b, _ := newBank(t)
	for _, c := range []struct {
		name, body string
		s          *Source
	}{
		{"a mail that is all subject", "Lunch at noon?", &Source{Key: "a", Title: "Lunch at noon?", Format: "mail"}},
		{"nothing at all", "", &Source{Key: "b", Blocks: []Block{{Text: " -- \n"}}}},
	} {
		change := add(t, b, "home", c.s)
		doc, err := b.Document("home", change.Document)
		if err != nil || doc.Title == "" || doc.Words != 0 {
			t.Error(c.name, doc, err)
		}
		chunks, err := b.Chunks("home", doc.Chunks)
		if err != nil || len(chunks) > 0 != (c.body != "") || len(chunks) > 0 && chunks[0].Body != c.body {
			t.Error(c.name, chunks, err)
		}
	}
	verify(t, b, "home")
}

func TestDocuments(t *testing.T) {
	b, _ := newBank(t)
	var sources []*Source
	for i := range 300 {
		sources = append(sources, note(fmt.Sprint("n", i), fmt.Sprint("Note number ", i)))
	}
	changes, err := b.AddAll(context.Background(), "home", sources)
	if err != nil {
		t.Fatal(err)
	}
	var want []percached.DocumentID
	for i, c := range changes {
		if c.State != Added || c.Seq != uint64(i+1) {
			t.Error(c)
		}
		want = append(want, c.Document)
	}
	slices.SortFunc(want, func(a, b percached.DocumentID) int { return strings.Compare(a.String(), b.String()) })
	for _, limit := range []int{1, 7, 300, 1000} {
		var got []percached.DocumentID
		var after percached.DocumentID
		for {
			page, err := b.Documents("home", after, limit)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, d := range page {
				got = append(got, d.ID)
			}
			after = got[len(got)-1]
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%d at a time: %s", limit, d)
		}
	}
	verify(t, b, "home")
}

// A sent document names its latest file, and is the same document with the same chunks
// under each name.
func TestSentUnderAName(t *testing.T) {
	b, _ := newBank(t)
	s := &Source{Key: "mail:1", Format: "text", Blocks: []Block{{Text: "Buy milk. Call Bo."}}}
	first := add(t, b, "home", s)
	for i, name := range []string{"old.mbox", "new.mbox", "new.mbox", ""} {
		s.File = name
		c := add(t, b, "home", s)
		doc, err := b.Document("home", c.Document)
		if err != nil || c.State != Unchanged || c.Seq != first.Seq || doc.Path != name || !slices.Equal(doc.Chunks, first.New) || doc.Title != "Buy milk. Call Bo." {
			t.Errorf("%d: %+v, %+v, %v", i, c, doc, err)
		}
	}
	verify(t, b, "home")
}

func TestRefused(t *testing.T) {
	b, _ := newBank(t)
	ctx := context.Background()
	for _, s := range []*Source{nil, {}, {Key: "\xff"}, {Key: strings.Repeat("k", maxName+1)}, {Key: "a", Path: strings.Repeat("p", maxName+1)}, {Key: "a", File: strings.Repeat("p", maxName+1)}, {Key: "a", File: "\xff"}} {
		_, err := b.Add(ctx, "home", s)
		wantKind(t, fault.Invalid, err)
	}
	// The sources before the refused one are stored.
	changes, err := b.AddAll(ctx, "home", []*Source{note("a", "One."), note("b", "Two."), {}, note("c", "Three.")})
	wantKind(t, fault.Invalid, err)
	if len(changes) != 2 {
		t.Error(changes)
	}
	verify(t, b, "home")
	_, err = b.Add(ctx, "away", note("a", "One."))
	wantKind(t, fault.NotFound, err)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = b.Add(cancelled, "home", note("d", "Four."))
	wantKind(t, fault.Timeout, err)
	if _, err := Open(openDB(t, t.TempDir()), Options{}); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}
