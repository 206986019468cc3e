package retrieval

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

func TestFinds(t *testing.T) {
	b := newBench(t, nil)
	got := b.feed.add("s", numbered(0, 20)...)
	b.update()
	for i, id := range got {
		hits := b.ask(fmt.Sprintf("Where is the item%d?", i), 3)
		if len(hits) != 3 || hits[0].Chunk != id || hits[0].Version != 1 || hits[0].BM25 <= 0 || hits[0].Cosine <= 0 {
			t.Fatalf("item%d: %+v", i, hits)
		}
		if hits[0].Score < hits[1].Score || hits[1].Score < hits[2].Score {
			t.Errorf("not by score: %+v", hits)
		}
	}
	want := Stats{Chunks: 20, Vectors: 20, Standing: Standing{Seq: 1}}
	s := b.stats()
	if s.Bytes == 0 {
		t.Error("no bytes")
	}
	s.Bytes = 0
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
}

// Chunks that are left out make room for others, however many they are.
func TestWithout(t *testing.T) {
	b := newBench(t, nil)
	got := b.feed.add("s", numbered(0, 20)...)
	b.update()
	q := Query{Space: "s", Text: "Where is the item3?", K: 3, Without: map[percached.ChunkID]bool{got[3]: true, got[4]: true}}
	hits, err := b.Search(t.Context(), q)
	if err != nil || len(hits) != 3 {
		t.Fatal(hits, err)
	}
	for _, h := range hits {
		if q.Without[h.Chunk] {
			t.Errorf("a chunk that is left out was found: %+v", h)
		}
	}
	for _, id := range got[1:] {
		q.Without[id] = true
	}
	if hits, err = b.Search(t.Context(), q); err != nil || len(hits) != 1 || hits[0].Chunk != got[0] {
		t.Errorf("all but one are left out: %+v, %v", hits, err)
	}
}

// Deleted chunks are not found, chunks that come back have their new version, and
// spaces are separate.
func TestFollowsTheFeed(t *testing.T) {
	b := newBench(t, nil)
	chunks := numbered(0, 4)
	got := b.feed.add("s", chunks...)
	b.feed.add("other", chunk("### Else (note)", "The item0 of somebody else."))
	b.update()
	calls := b.feed.calls
	b.update()
	if b.feed.calls != calls {
		t.Error("there was nothing to do, and the feed was read")
	}
	b.feed.remove("s", got[0], got[1])
	b.update()
	for _, h := range append(b.ask("item0", 10), b.ask("item1 shelf", 10)...) {
		if h.Chunk == got[0] || h.Chunk == got[1] {
			t.Error("what is gone was found")
		}
	}
	b.feed.add("s", chunks[1])
	b.update()
	hits := b.ask("item1", 1)
	if len(hits) != 1 || hits[0].Chunk != got[1] || hits[0].Version != 3 {
		t.Errorf("came again: %+v", hits)
	}
	// Deleted and added again between two updates.
	b.feed.remove("s", got[2])
	b.feed.add("s", chunks[2])
	b.update()
	if hits := b.ask("item2", 1); len(hits) != 1 || hits[0].Chunk != got[2] || hits[0].Version != 5 {
		t.Errorf("gone and back: %+v", hits)
	}
	if s := b.stats(); s.Chunks != 3 || s.Vectors != 3 || s.Seq != 5 {
		t.Errorf("%+v", s)
	}
}

func TestReopened(t *testing.T) {
	b := newBench(t, nil)
	b.feed.add("s", numbered(0, 300)...)
	b.update()
	want := b.ask("the item17 on a shelf", 10)
	made := b.emb.made
	b.reopen()
	if d := cmp.Diff(want, b.ask("the item17 on a shelf", 10)); d != "" {
		t.Error(d)
	}
	b.update()
	if b.emb.made != made {
		t.Errorf("%d vectors made again", b.emb.made-made)
	}
}

// The same chunks give the same answers, in whatever order they came.
func TestHistoryDoesNotMatter(t *testing.T) {
	all := numbered(0, 120)
	a, b := newBench(t, nil), newBench(t, nil)
	a.feed.add("s", all...)
	a.update()
	extra := numbered(500, 60)
	for i := 0; i < len(all); i += 10 {
		b.feed.add("s", slices.Concat(extra[i/2:i/2+5], all[len(all)-i-10:len(all)-i])...)
		b.update()
	}
	for i, c := range extra {
		b.feed.remove("s", c.ID)
		if i%7 == 0 {
			b.update()
		}
	}
	b.update()
	for _, q := range []string{"item7", "Which shelf has the others?", "item3 item99 beside note 12", "shelf 5"} {
		x, y := a.ask(q, 20), b.ask(q, 20)
		for i := range x {
			x[i].Version = 0
		}
		for i := range y {
			y[i].Version = 0
		}
		if d := cmp.Diff(x, y); d != "" {
			t.Errorf("%s: %s", q, d)
		}
	}
}

func TestRefuses(t *testing.T) {
	b := newBench(t, nil)
	b.feed.add("s", numbered(0, 3)...)
	b.update()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		q    Query
		want fault.Kind
	}{
		{"no K", t.Context(), Query{Space: "s", Text: "item1"}, fault.Invalid},
		{"a huge K", t.Context(), Query{Space: "s", Text: "item1", K: maxCandidates + 1}, fault.Invalid},
		{"no such space", t.Context(), Query{Space: "none", Text: "item1", K: 1}, fault.NotFound},
		{"another vector", t.Context(), Query{Space: "s", Text: "item1", K: 1, Vector: make([]float32, 3)}, fault.Invalid},
		{"cancelled", cancelled, Query{Space: "s", Text: "item1", K: 1}, fault.Timeout},
	} {
		if _, err := b.Search(tt.ctx, tt.q); fault.KindOf(err) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if err := b.Update(cancelled, "s"); fault.KindOf(err) != fault.Timeout {
		t.Error(err)
	}
	if err := b.Update(t.Context(), "none"); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	left, err := os.ReadDir(b.o.Dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%d folders: %v", len(left), err)
	}
	b.Close()
	if _, err := b.Search(t.Context(), Query{Space: "s", Text: "item1", K: 1}); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	if err := b.Update(t.Context(), "s"); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	if err := b.Drop("s"); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	if _, err := Open(Options{}); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}

// Without an embedder, Search uses words alone.
func TestWordsAlone(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Embedder = nil })
	got := b.feed.add("s", numbered(0, 5)...)
	b.update()
	hits := b.ask("item3", 2)
	if len(hits) == 0 || hits[0].Chunk != got[3] || hits[0].Cosine != 0 || hits[0].Score != 1 {
		t.Errorf("%+v", hits)
	}
	if s := b.stats(); s.Vectors != 0 || s.EmbedderStale {
		t.Errorf("%+v", s)
	}
}

func TestDrop(t *testing.T) {
	b := newBench(t, nil)
	b.feed.add("s", numbered(0, 5)...)
	b.feed.add("other", numbered(0, 5)...)
	b.update()
	if err := b.Update(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	if err := b.Drop("s"); err != nil {
		t.Fatal(err)
	}
	if n := keyCount(t, b, "s"); n != 0 {
		t.Errorf("%d keys left", n)
	}
	if n := keyCount(t, b, "other"); n == 0 {
		t.Error("the other space lost its keys")
	}
	if left, err := filepath.Glob(filepath.Join(b.o.Dir, "*")); err != nil || len(left) != 1 {
		t.Errorf("%d folders left", len(left))
	}
	b.feed.spaces["s"] = newFeed("s").spaces["s"] // created again under the same name
	b.feed.add("s", numbered(7, 1)...)
	b.update()
	if hits := b.ask("item3 item7", 9); len(hits) != 1 {
		t.Errorf("%+v", hits)
	}
}

// Many goroutines use one space while it changes. Chunks deleted before an Update are
// never found after it.
func TestMany(t *testing.T) {
	b := newBench(t, func(o *Options) { o.OpenSpaces = 1 })
	all := numbered(0, 200)
	b.feed.add("s", all[:100]...)
	b.feed.add("other", all[:10]...)
	b.update()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 40 {
				name := "s"
				if i%5 == g {
					name = "other" // so that the spaces push each other out
				}
				q := fmt.Sprintf("where is item%d?", i*2+g)
				if _, err := b.Search(t.Context(), Query{Space: name, Text: q, Vector: b.emb.vector(q), K: 3}); err != nil {
					t.Error(err)
				}
				if i%10 == 0 {
					if _, err := b.Stats(name); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 50 {
			gone := all[i].ID
			b.feed.remove("s", gone)
			b.feed.add("s", all[100+i])
			if err := b.Update(t.Context(), "s"); err != nil {
				t.Error(err)
			}
			q := fmt.Sprintf("item%d", i)
			hits, err := b.Search(t.Context(), Query{Space: "s", Text: q, Vector: b.emb.vector(q), K: 5})
			if err != nil {
				t.Error(err)
			}
			for _, h := range hits {
				if h.Chunk == gone {
					t.Errorf("%s is gone and was found", q)
				}
			}
			if i%20 == 10 {
				if err := b.Rebuild(t.Context(), "s", nil); err != nil {
					t.Error(err)
				}
			}
		}
	})
	wg.Wait()
}

func TestManySpaces(t *testing.T) {
	const n = 40
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("space%d", i)
	}
	b := newBench(t, func(o *Options) { o.OpenSpaces = 3 })
	b.feed = newFeed(names...)
	b.o.Feed = b.feed
	b.reopen()
	for i, name := range names {
		b.feed.add(name, numbered(i, 2)...)
		if err := b.Update(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range names {
		hits, err := b.Search(t.Context(), Query{Space: name, Text: fmt.Sprintf("item%d", i), K: 5})
		if err != nil || len(hits) != 2 && len(hits) != 1 || hits[0].Chunk != numbered(i, 1)[0].ID {
			t.Fatalf("%s: %+v %v", name, hits, err)
		}
	}
	open := 0
	for _, sp := range b.spaces {
		if sp.text != nil {
			open++
		}
	}
	if open != 3 {
		t.Errorf("%d spaces are open", open)
	}
}

func keyCount(t *testing.T, b *bench, space string) int {
	t.Helper()
	id := idOf(space)
	n := 0
	for _, p := range [][]byte{id.record(), id.vectors()} {
		n += countKeys(t, b.o.DB, p)
	}
	return n
}

// The folder's name may have any characters.
func TestFolderNameWithMarks(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Dir = filepath.Join(o.Dir, "a[b") })
	b.feed.add("s", numbered(0, 3)...)
	b.update()
	b.reopen()
	b.whole("again", numbered(0, 3))
}
