package retrieval

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	index "github.com/blevesearch/bleve_index_api"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// held reports whether the index's dictionary, or any file, still has a word.
func held(t *testing.T, b *bench, word string) bool {
	t.Helper()
	found := false
	sp, err := b.openToRead("s")
	if err != nil {
		t.Fatal(err)
	}
	defer sp.filesInUse.RUnlock()
	if err := sp.text.read(func(r index.IndexReader) error {
		d, err := r.FieldDict(fieldBody)
		if err != nil {
			return err
		}
		defer d.Close()
		for {
			e, err := d.Next()
			if err != nil || e == nil {
				return err
			}
			found = found || e.Term == word
		}
	}); err != nil {
		t.Fatal(err)
	}
	backwards := []byte(word)
	slices.Reverse(backwards)
	if err := filepath.WalkDir(b.o.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(word)) || bytes.Contains(data, backwards)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// After Rebuild, nothing of a deleted chunk is left in the folder.
func TestRebuildForgets(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 100)
	b.feed.add("s", all...)
	secret := chunk("### Secret (note)", "The word is "+canary+" and no other.")
	b.feed.add("s", secret)
	b.update()
	if !held(t, b, canary) {
		t.Fatal("the test looks in the wrong place")
	}
	b.feed.remove("s", secret.ID)
	b.update()
	before, err := filepath.Glob(filepath.Join(b.dir(), "*.zap"))
	if err != nil || len(before) == 0 {
		t.Fatal(err)
	}
	last, calls := 0, 0
	if err := b.Rebuild(t.Context(), "s", func(done, total int) {
		if done < last || total != len(all) || done > total {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
		calls++
	}); err != nil {
		t.Fatal(err)
	}
	if last != len(all) || calls < 2 {
		t.Errorf("progress ended at %d after %d calls", last, calls)
	}
	if held(t, b, canary) {
		t.Error("the word is still there")
	}
	if left, err := filepath.Glob(b.dir() + unfinished); err != nil || len(left) > 0 {
		t.Error("the fresh folder is still there", err)
	}
	b.whole("rebuilt", all)
	b.reopen()
	b.whole("reopened", all)
}

// A cancelled Rebuild changes nothing, and its remains are removed.
func TestRebuildStopped(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 2*batchChunks)
	b.feed.add("s", all...)
	b.update()
	ctx, cancel := context.WithCancel(t.Context())
	err := b.Rebuild(ctx, "s", func(done, _ int) {
		if done > 0 {
			cancel()
		}
	})
	if fault.KindOf(err) != fault.Timeout {
		t.Fatal(err)
	}
	b.whole("stopped", all)
	b.Close()
	if err := os.MkdirAll(b.dir()+unfinished, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir()+unfinished, "x.zap"), []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	b.open()
	if left, err := filepath.Glob(b.dir() + unfinished); err != nil || len(left) > 0 {
		t.Error("what a crash left was not swept", err)
	}
	b.whole("reopened", all)
}

// Rebuild repairs vectors: it makes missing ones and removes those without a chunk.
func TestRebuildMendsVectors(t *testing.T) {
	b := newBench(t, nil)
	all := numbered(0, 30)
	b.feed.add("s", all...)
	b.update()
	_, v, _ := b.spaces["s"].state()
	v.mu.Lock()
	v.remove(all[7].ID)
	stray := chunk("### No (note)", "body").ID
	v.set(stray, 1, toHalves(b.emb.vector("x")))
	v.mu.Unlock()
	if err := b.o.DB.Update(func(tx *kv.Tx) error {
		return tx.Set(idOf("s").vector(1, stray), encodeVector(1, toHalves(b.emb.vector("x"))))
	}); err != nil {
		t.Fatal(err)
	}
	if err := b.Rebuild(t.Context(), "s", nil); err != nil {
		t.Fatal(err)
	}
	b.whole("mended", all)
	b.reopen()
	b.whole("reopened", all)
}
