package retrieval

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/percached/percached/internal/base/fault"
)

// with opens the index again with another embedder.
func (b *bench) with(name string, dim int) {
	b.t.Helper()
	b.Close()
	b.emb = &wordsEmbedder{name: name, dim: dim}
	b.o.Embedder = b.emb
	b.open()
}

// While the vectors are another embedder's, Search uses words alone, and the space can
// change. Reembed continues where it was cancelled and swaps at the end.
func TestReembed(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 200)
	for _, c := range all {
		b.feed.add("s", c)
	}
	b.update()
	b.with("two", 32)
	stale := func() {
		t.Helper()
		hits := b.ask("item33", 1)
		if len(hits) != 1 || hits[0].Chunk != all[33].ID || hits[0].Cosine != 0 {
			t.Errorf("%+v", hits)
		}
		if s := b.stats(); !s.EmbedderStale || s.Vectors != 0 {
			t.Errorf("%+v", s)
		}
		b.knows(0) // words alone find less than a whole search
	}
	b.update()
	stale()
	ctx, cancel := context.WithCancel(t.Context())
	n, err := b.Reembed(ctx, "s", func(done, total int) {
		if total != 200 || done > total {
			t.Errorf("%d of %d", done, total)
		}
		if done >= 96 {
			cancel()
		}
	})
	if fault.KindOf(err) != fault.Timeout || n != 96 {
		t.Fatal(n, err)
	}
	stale()
	// Chunks come and go meanwhile, on both sides of its position.
	b.feed.remove("s", all[5].ID, all[150].ID)
	extra := chunk("### New (note)", "The item999 is new.")
	b.feed.add("s", extra)
	b.update()
	b.reopen()
	stale()
	n, err = b.Reembed(t.Context(), "s", nil)
	if err != nil || n != 200-96-1+1 {
		t.Fatal(n, err)
	}
	want := append(append(append(numbered(0, 5), all[6:150]...), all[151:]...), extra)
	b.whole("made", want)
	b.knows(202)
	if n := countKeys(t, b.o.DB, idOf("s").vectors()); n != len(want) {
		t.Errorf("%d vectors are stored", n)
	}
	b.reopen()
	b.update()
	b.whole("reopened", want)
	if n, err := b.Reembed(t.Context(), "s", nil); err != nil || n != 0 {
		t.Errorf("nothing to do: %d %v", n, err)
	}
}

// Reembed does not undo a deletion that the index has not yet read.
func TestReembedMeetsRemoval(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 100)
	for _, c := range all {
		b.feed.add("s", c)
	}
	b.update()
	b.with("two", 64)
	if _, err := b.Reembed(t.Context(), "s", func(done, _ int) {
		if done == 64 {
			b.feed.remove("s", all[3].ID, all[90].ID)
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.update()
	b.whole("after", append(append(numbered(0, 3), all[4:90]...), all[91:]...))
}

// Others change and search the space while new vectors are made.
func TestReembedAmongOthers(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 450)
	for _, c := range all[:300] {
		b.feed.add("s", c)
	}
	b.update()
	b.with("two", 32)
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := b.Reembed(t.Context(), "s", func(int, int) {
			if _, err := b.Reembed(t.Context(), "s", nil); fault.KindOf(err) != fault.Conflict {
				t.Error("twice at once:", err)
			}
		}); err != nil {
			t.Error(err)
		}
	})
	wg.Go(func() {
		for i := range 50 {
			b.feed.remove("s", all[i].ID)
			b.feed.add("s", all[300+i])
			if i%3 == 0 { // deleted and added again
				b.feed.remove("s", all[200+i].ID)
				if i%2 == 0 {
					b.update()
				}
				b.feed.add("s", all[200+i])
			}
			b.update()
			b.ask(fmt.Sprintf("item%d", 200+i), 3)
		}
	})
	wg.Wait()
	if n, err := b.Reembed(t.Context(), "s", nil); err != nil || n != 0 {
		t.Error(n, err)
	}
	b.update()
	b.whole("in the end", all[50:350])
	b.reopen()
	b.whole("reopened", all[50:350])
	if n := countKeys(t, b.o.DB, idOf("s").vectors()); n != 300 {
		t.Errorf("%d vectors are stored", n)
	}
}

// If a third embedder comes before the second is done, Reembed starts again; the first
// one finds its vectors unchanged.
func TestReembedChangesItsMind(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 100)
	for _, c := range all {
		b.feed.add("s", c)
	}
	b.update()
	stop := func() {
		t.Helper()
		b.emb.before = func(n int) error {
			if n > 40 {
				return errBroken
			}
			return nil
		}
		if _, err := b.Reembed(t.Context(), "s", nil); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
	}
	b.with("two", 32)
	stop()
	b.with("one", 64)
	b.whole("the first again", all)
	if b.emb.made != 0 {
		t.Error("made again")
	}
	b.with("three", 16)
	stop()
	b.emb.before = nil
	if n, err := b.Reembed(t.Context(), "s", nil); err != nil || n != 100-64 {
		t.Error(n, err)
	}
	b.whole("the third", all)
	if n := countKeys(t, b.o.DB, idOf("s").vectors()); n != 100 {
		t.Errorf("%d vectors are stored", n)
	}
}

func TestReembedWithout(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Embedder = nil })
	if _, err := b.Reembed(t.Context(), "s", nil); fault.KindOf(err) != fault.Unsupported {
		t.Error(err)
	}
}
