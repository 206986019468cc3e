package retrieval

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	index "github.com/blevesearch/bleve_index_api"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

const canary = "zyzzyvacanary"

func (b *bench) dir() string { return newSpace("s", b.o.Dir, b.o.Key).dir }

// copyDir copies a folder, as a disk held it at some moment.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// whole checks that words and vectors both hold exactly these chunks.
func (b *bench) whole(what string, want []percached.Chunk) {
	b.t.Helper()
	s := b.stats()
	if s.Chunks != len(want) || s.Vectors != len(want) {
		b.t.Errorf("%s: %+v, want %d chunks", what, s, len(want))
	}
	for i := 0; i < len(want); i += 1 + len(want)/20 {
		hits := b.ask(want[i].Head+" "+want[i].Body, 3)
		if !slices.ContainsFunc(hits, func(h Hit) bool { return h.Chunk == want[i].ID && h.BM25 > 0 && h.Cosine > 0 }) {
			b.t.Errorf("%s: chunk %d is not found: %+v", what, i, hits)
		}
	}
}

// An index of words that is older than the vectors, as after a crash between the two,
// catches up.
func TestWordsBehindVectors(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 60)
	b.feed.add("s", all[:30]...)
	b.update()
	b.Close()
	old := t.TempDir()
	copyDir(t, b.dir(), old)
	b.open()
	b.feed.remove("s", all[0].ID)
	b.feed.add("s", all[30:]...)
	b.update()
	made := b.emb.made
	b.Close()
	copyDir(t, old, b.dir())
	b.open()
	b.ask("item3", 1)
	b.whole("asked at once", all[1:])
	if b.emb.made != made {
		t.Error("vectors were made again")
	}
	b.Close()
	if err := os.RemoveAll(b.dir()); err != nil {
		t.Fatal(err)
	}
	b.open()
	b.ask("item3", 1)
	b.whole("lost", all[1:])
}

// Vectors that are older than the index of words catch up.
func TestVectorsBehindWords(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 40)
	b.feed.add("s", all[:10]...)
	b.update()
	b.emb.before = func(int) error { return errBroken }
	b.feed.remove("s", all[0].ID)
	b.feed.add("s", all[10:]...)
	if err := b.Update(t.Context(), "s"); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if hits := b.ask("item22", 1); len(hits) != 1 || hits[0].Chunk != all[22].ID || hits[0].Cosine != 0 {
		t.Errorf("the words are not there: %+v", hits)
	}
	if s := b.stats(); s.Vectors != 9 || s.Chunks != 39 || s.Seq != 3 {
		t.Errorf("%+v", s)
	}
	b.knows(1)
	b.emb.before = nil
	b.reopen()
	b.update()
	b.whole("caught up", all[1:])
	b.knows(3)
}

// A database, or a feed, that was restored from a backup finds an index that is ahead
// of it.
func TestRestoredFromBackup(t *testing.T) {
	for _, advanced := range []bool{false, true} {
		b := newBench(t, nil)
		all := numbered(0, 50)
		b.feed.add("s", all[:20]...)
		b.update()
		keys, feed := dump(t, b.o.DB), b.feed.backup()
		b.feed.add("s", all[20:30]...)
		b.feed.remove("s", all[3].ID)
		b.feed.add("s", chunk("### Secret", canary))
		b.update()
		b.Close()
		b.feed.spaces = feed
		want := all[:20]
		if advanced { // behind the seq of the index
			restore(t, b.o.DB, keys)
			for _, c := range all[30:40] {
				b.feed.add("s", c)
			}
			want = slices.Concat(want, all[30:40])
		}
		b.open()
		b.update()
		b.whole("restored", want)
		if hits := b.ask(canary, 1); len(hits) > 0 && hits[0].BM25 > 0 {
			t.Error("what the backup does not have was found")
		}
	}
}

// A feed that has forgotten deletions is read from its start.
func TestForgottenTombstones(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 80)
	b.feed.add("s", all[:40]...)
	b.update()
	made := b.emb.made
	b.feed.remove("s", all[2].ID)
	b.feed.add("s", all[40:]...)
	s := b.feed.spaces["s"]
	clear(s.gone)
	s.trimmed = s.seq
	b.update()
	b.whole("from the start", append(numbered(0, 2), all[3:]...))
	if b.emb.made != made+40 {
		t.Errorf("%d vectors made again", b.emb.made-made-40)
	}
	if n := keyCount(t, b, "s"); n != 79+1 {
		t.Errorf("%d keys", n)
	}
	// The same while another embedder's vectors are made.
	b.with("two", 32)
	for _, c := range numbered(100, 100) {
		b.feed.add("s", c)
	}
	b.update()
	if _, err := b.Reembed(t.Context(), "s", func(done, _ int) {
		if done > 100 && s.trimmed != s.seq {
			b.feed.remove("s", all[3].ID)
			clear(s.gone)
			s.trimmed = s.seq
		}
	}); err != nil {
		t.Fatal(err)
	}
	b.update()
	b.whole("reembedded", slices.Concat(numbered(0, 2), all[4:], numbered(100, 100)))
}

// An index of other rules is rebuilt.
func TestOtherRules(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 10)
	b.feed.add("s", all...)
	b.update()
	if err := b.spaces["s"].text.i.SetInternal(stateKey, append(make([]byte, 7), 1, 9, 9, 9, 9)); err != nil {
		t.Fatal(err)
	}
	b.reopen()
	b.ask("item3", 1)
	b.whole("made anew", all)
}

// A search does not fail because Update has not yet brought new chunks.
func TestDoesNotCatchUp(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 20)
	b.feed.add("s", all...)
	b.update()
	b.Close()
	old := t.TempDir()
	copyDir(t, b.dir(), old)
	b.open()
	b.feed.add("s", numbered(20, 20)...)
	b.update()
	b.Close()
	copyDir(t, old, b.dir())
	b.o.MinFree = 1 << 60
	b.open()
	if hits := b.ask("item7", 1); len(hits) != 1 || hits[0].Chunk != all[7].ID {
		t.Errorf("a part is there, and was not searched: %+v", hits)
	}
	b.Close()
	if err := os.RemoveAll(b.dir()); err != nil {
		t.Fatal(err)
	}
	b.open()
	if _, err := b.Search(t.Context(), Query{Space: "s", Text: "item7", K: 1}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("nothing is there: %v", err)
	}
	b.Close()
	b.o.MinFree = 0
	b.open()
	b.ask("item7", 1)
	b.whole("in the end", numbered(0, 40))
}

// A crash during a large update loses only the batch in progress.
func TestStopped(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 3*batchChunks)
	for part := range slices.Chunk(all, 7) {
		b.feed.add("s", part...)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.emb.before = func(n int) error {
		if n > 2*batchChunks+10 {
			cancel()
		}
		return ctx.Err()
	}
	if err := b.Update(ctx, "s"); fault.KindOf(err) != fault.Timeout {
		t.Fatal(err)
	}
	b.emb.before = nil
	b.reopen()
	b.update()
	b.whole("went on", all)
	if b.emb.made > len(all)+batchChunks {
		t.Errorf("%d vectors made for %d chunks", b.emb.made, len(all))
	}
}

// A question comes first; the work continues after it.
func TestPreempted(t *testing.T) {
	b := newBench(t, nil)
	times := 0
	b.emb.before = func(int) error {
		if times++; times < 4 {
			return fault.New(fault.Unavailable, "llm", "%w", percached.ErrPreempted)
		}
		return nil
	}
	all := numbered(0, 5)
	b.feed.add("s", all...)
	b.update()
	b.whole("in the end", all)
}

// stubborn refuses batches, as bleve does when it cannot write.
type stubborn struct{ index.Index }

func (stubborn) Batch(*index.Batch) error { return errBroken }

func TestFullDisk(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 40)
	b.feed.add("s", all[:20]...)
	b.update()
	b.feed.add("s", all[20:30]...)
	b.Index.o.MinFree = 1 << 60
	if err := b.Update(t.Context(), "s"); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	b.ask("item3", 1)
	b.o.MinFree = 1 << 60
	b.reopen()
	b.ask("item3", 1)
	if !b.spaces["s"].text.frozen {
		t.Error("bleve may write to a full disk")
	}
	b.Index.o.MinFree, b.o.MinFree = 0, 0
	b.update()
	b.whole("room again", all[:30])

	b.feed.remove("s", all[0].ID)
	b.feed.add("s", all[30:]...)
	sp := b.spaces["s"]
	sp.text.i = stubborn{sp.text.i}
	if err := b.Update(t.Context(), "s"); fault.KindOf(err) != fault.Unavailable || !errors.Is(err, errBroken) {
		t.Error(err)
	}
	b.update()
	b.whole("written in the end", all[1:])
}

func dump(t *testing.T, db *kv.DB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	if err := db.View(func(tx *kv.Tx) error {
		return tx.Each([]byte{prefix}, func(k, v []byte) error { out[string(k)] = bytes.Clone(v); return nil })
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func restore(t *testing.T, db *kv.DB, keys map[string][]byte) {
	t.Helper()
	if err := clearKeys(db, []byte{prefix}, nil); err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *kv.Tx) error {
		for k, v := range keys {
			if err := tx.Set([]byte(k), v); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
