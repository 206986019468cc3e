package ingest_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank"
)

func (w *world) forGood(key string) {
	w.Helper()
	_, err := w.DeleteForGood(context.Background(), space, percached.NewDocumentID(key))
	w.ok(err)
}

func (w *world) remembered(want int) {
	w.Helper()
	if n, err := w.Remembered(space); n != want || err != nil {
		w.Errorf("%d documents are remembered, not %d: %v", n, want, err)
	}
}

// A document that the user deleted stays out until its text changes or the user adds it
// again. What is remembered of it contains no word of it.
func TestDeletedStaysOut(t *testing.T) {
	zyxwv := func(text string) *knowledgebank.Source {
		s := note("a", text)
		s.Title, s.File = "Zyxwvquorn", "/mail/a.txt"
		return s
	}
	long := strings.Repeat("Ducks swim far. ", 200) // several chunks
	again := zyxwv(long)
	again.Again = true
	for name, tt := range map[string]struct {
		add  *knowledgebank.Source
		want ingest.Report
		left int // remembered afterwards
	}{
		"unchanged": {zyxwv(long), ingest.Report{Deleted: 1, LeftOut: []ingest.Failure{{Name: "/mail/a.txt", Reason: "you deleted it on 2026-02-03"}}}, 1},
		"again":     {again, ingest.Report{Added: 1}, 0},
		"changed":   {zyxwv(long + "And sing."), ingest.Report{Added: 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Library.Now = func() time.Time { return time.Date(2026, 2, 3, 12, 0, 0, 0, time.Local) }
			w.add(zyxwv(long), note("b", "Otters swim."))
			w.forGood("a")
			w.remembered(1)
			w.reopen(true)
			w.Library.Now = nil // only the day of the deletion counts
			if found := w.traces("zyxwv"); len(found) > 0 {
				t.Errorf("left: %q", found)
			}
			got := w.add(tt.add, note("b", "Otters swim."))
			got.Chunks = 0
			tt.want.Unchanged = 1
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			w.remembered(tt.left)
		})
	}
}

// Not every deletion is remembered, and nothing longer than its space.
func TestRememberedNoLonger(t *testing.T) {
	ctx := context.Background()
	for name, then := range map[string]func(w *world){
		"deleted in passing": func(w *world) {
			_, err := w.Delete(ctx, space, percached.NewDocumentID("a"))
			w.ok(err)
		},
		"the space is deleted": func(w *world) {
			w.forGood("a")
			w.remembered(1)
			_, err := w.DeleteSpace(ctx, space)
			w.ok(err)
			w.ok(w.Knowledge.CreateSpace(percached.Space{Name: space, Kind: "notes"}))
		},
		"another folder's backup": func(w *world) {
			w.forGood("a")
			w.Library.Key = []byte("another")
			w.ok(w.Recover(ctx, false))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(note("a", "Ducks swim."))
			then(w)
			w.remembered(0)
			if r := w.add(note("a", "Ducks swim.")); r.Added != 1 || r.Deleted != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// If the deletion fails, the document is there: adding it changes nothing.
func TestRememberedAfterFailure(t *testing.T) {
	w := newWorld(t)
	w.add(note("a", "Ducks swim."))
	if _, err := w.DeleteForGood(ended{context.Background()}, space, percached.NewDocumentID("a")); kind(err) != fault.Timeout {
		t.Fatal(err)
	}
	w.remembered(1)
	if r := w.add(note("a", "Ducks swim.")); r.Unchanged != 1 || r.Deleted != 0 {
		t.Errorf("%+v", r)
	}
	w.remembered(0)
}

// A damaged document that the user deleted stays out, whatever text comes under its name.
func TestDamagedStaysOut(t *testing.T) {
	w := newWorld(t)
	source := note("a", "Ducks swim.")
	source.Path = "/mail/zyxwv.txt"
	w.add(source)
	id := percached.NewDocumentID("a")
	w.ok(w.Meta.Update(func(tx *kv.Tx) error {
		var keys [][]byte
		if err := tx.Each([]byte("K"), func(k, v []byte) error {
			if bytes.Contains(v, []byte(source.Path)) {
				keys = append(keys, bytes.Clone(k))
			}
			return nil
		}); err != nil {
			return err
		}
		for _, k := range keys {
			if err := tx.Set(k, []byte("damaged")); err != nil {
				return err
			}
		}
		return nil
	}))
	if _, err := w.Knowledge.Document(space, id); kind(err) != fault.Internal {
		t.Fatalf("the document is not damaged: %v", err)
	}
	w.forGood("a")
	if r := w.add(note("a", "Ducks swim.")); r.Deleted != 1 || r.Added != 0 {
		t.Errorf("%+v", r)
	}
}

// Of several documents in a batch the deleted ones stay out, and the others are added.
func TestDeletedAmongOthers(t *testing.T) {
	w := newWorld(t)
	w.add(note("a", "Ducks swim."), note("b", "Otters swim."))
	w.forGood("a")
	w.forGood("b")
	r := w.add(note("a", "Ducks swim."), note("c", "Geese sing."), note("b", "Otters swim."))
	r.LeftOut = nil
	if d := cmp.Diff(ingest.Report{Added: 1, Deleted: 2, Chunks: 1}, r); d != "" {
		t.Error(d)
	}
}

// A document's bytes leave the disk soon after its deletion, without anybody asking.
func TestKeepClean(t *testing.T) {
	w := newWorld(t)
	w.add(note("a", "The password of Zyxwv is swordfish."), note("b", "Otters swim."))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	now := make(chan time.Time)
	close(now)
	clean := make(chan struct{})
	go func() {
		defer close(ended)
		w.KeepClean(ctx, func(time.Duration) <-chan time.Time { return now })
	}()
	w.forGood("a")
	go func() { // CleanUp is over when the next one has nothing to do
		defer close(clean)
		for n := 1; n > 0 && ctx.Err() == nil; {
			var err error
			if n, err = w.Unclean(space); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	<-clean
	cancel()
	<-ended
	if found := w.traces("zyxwv"); len(found) > 0 {
		t.Errorf("left: %q", found)
	}
}

// A memory of version 1, whose marks are under the folder's own key, keeps its document out,
// and is forgotten when the document is added again.
func TestFormerMemory(t *testing.T) {
	w := newWorld(t)
	mark := func(parts ...string) []byte {
		h := hmac.New(sha256.New, w.Library.Key)
		h.Write([]byte(strings.Join(parts, "")))
		return h.Sum(nil)
	}
	id, at := percached.NewDocumentID("a"), kv.NewSpaceID(space)
	key := slices.Concat([]byte("Fd"), at[:], mark("document", space, "\x00", string(id[:]))[:16])
	value := slices.Concat([]byte{1}, mark("folder")[:4], binary.BigEndian.AppendUint64(nil, 1), make([]byte, 16))
	w.ok(w.Meta.Update(func(tx *kv.Tx) error { return tx.Set(key, value) }))
	w.reopen(true)
	w.remembered(1)
	again := note("a", "Ducks swim.")
	again.Again = true
	for _, tt := range []struct {
		add  *knowledgebank.Source
		left int
	}{{note("a", "Ducks swim."), 1}, {again, 0}} {
		r, err := w.Add(t.Context(), space, func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
			return emit(tt.add)
		}, nil)
		w.ok(err)
		if r.Deleted != tt.left {
			t.Errorf("%+v", r)
		}
		w.remembered(tt.left)
	}
}
