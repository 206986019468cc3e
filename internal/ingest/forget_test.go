package ingest_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// If the client disconnects after the knowledge bank deleted a document, the other layers
// still forget it.
func TestForgettingOutlivesTheClient(t *testing.T) {
	for name, forget := range map[string]func(w *world, ctx context.Context) error{
		"document": func(w *world, ctx context.Context) error {
			_, err := w.Delete(ctx, space, percached.NewDocumentID("a"))
			return err
		},
		"space": func(w *world, ctx context.Context) error { _, err := w.DeleteSpace(ctx, space); return err },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ok(w.Knowledge.CreateSpace(percached.Space{Name: "other", Kind: "notes"}))
			w.add(note("a", "Ducks swim."))
			w.ask("Do ducks swim?", "a")
			ctx, cancel := context.WithCancel(context.Background())
			w.asked.settled = cancel
			w.ok(forget(w, ctx))
			w.ok(w.Knowledge.CreateSpace(percached.Space{Name: space, Kind: "notes"}))
			if d := cmp.Diff(stored{}, w.stored()); d != "" {
				t.Error(d)
			}
		})
	}
}

// A space created again shows nothing of the deleted one and stays, wherever that
// deletion was interrupted.
func TestFinishDeletion(t *testing.T) {
	ctx := context.Background()
	for name, cut := range map[string]func(w *world){
		"a layer failed": func(w *world) {
			w.asked.fails = fault.New(fault.Unavailable, "history", "the disk is full")
			if _, err := w.DeleteSpace(ctx, space); kind(err) != fault.Unavailable {
				w.Fatal(err)
			}
			w.asked.fails = nil
		},
		"that it is gone was not noted": func(w *world) {
			w.set(true, false, "", nil)
			_, _, err := w.Knowledge.DeleteSpace(space)
			w.ok(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ok(w.Knowledge.CreateSpace(percached.Space{Name: "other", Kind: "notes"}))
			w.ok(w.FinishDeletion(ctx, space)) // nothing of it is being forgotten
			w.add(note("a", "The password of Zyxwv is swordfish."))
			w.ask("What is the password of Zyxwv?", "a")
			cut(w)
			w.ok(w.FinishDeletion(ctx, space))
			w.ok(w.Knowledge.CreateSpace(percached.Space{Name: space, Kind: "notes"}))
			if d := cmp.Diff(stored{}, w.stored()); d != "" {
				t.Error(d)
			}
			w.ok(w.CleanUp(ctx, nil))
			if _, err := w.Knowledge.Space(space); err != nil {
				t.Error(err)
			}
			if found := w.traces("zyxwv"); len(found) > 0 {
				t.Errorf("left: %q", found)
			}
		})
	}
}

// Completing a failed deletion deletes nothing that was added later, and everything else.
func TestAddAfterFailedDelete(t *testing.T) {
	ctx := context.Background()
	for name, failed := range map[string]func(w *world){
		"document":         func(w *world) { w.set(false, false, "a", nil) },
		"document, gone":   func(w *world) { w.set(false, false, "a", nil); w.drop("a") },
		"space":            func(w *world) { w.set(true, false, "", nil) },
		"another document": func(w *world) { w.set(false, false, "b", nil) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(note("a", "Ducks swim."), note("b", "Otters swim."))
			failed(w)
			w.add(note("a", "Ducks swim, and this was acknowledged."))
			w.ok(w.CleanUp(ctx, nil))
			want := map[string]bool{"a": true, "b": name != "another document"}
			for key, there := range want {
				if _, err := w.Knowledge.Document(space, percached.NewDocumentID(key)); (err == nil) != there {
					t.Errorf("%s: %v", key, err)
				}
			}
		})
	}
}

// drop deletes a document from the knowledge bank only.
func (w *world) drop(key string) {
	w.Helper()
	_, err := w.Knowledge.Delete(context.Background(), space, percached.NewDocumentID(key))
	w.ok(err)
}

// A deletion from meta is noted first, so that no failure leaves bytes unmarked; and it
// waits while meta is copied, because the mark would be lost.
func TestRemoveFromMeta(t *testing.T) {
	w := newWorld(t)
	failed := errors.New("half of it is removed")
	if err := w.RemoveFromMeta(context.Background(), space, func() error { return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	if due, err := w.NeedsCleanUp(); !due || err != nil {
		t.Error("it was not noted", err)
	}
	copied := false
	w.ok(w.CleanUp(context.Background(), func(int64, int64) {
		copied = true
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := w.RemoveFromMeta(ctx, space, func() error { t.Error("it was removed meanwhile"); return nil }); kind(err) != fault.Timeout {
			t.Error(err)
		}
	}))
	if due, err := w.NeedsCleanUp(); due || err != nil || !copied {
		t.Error(due, err, copied)
	}
}

// A space does not show that another one deleted something, unless percached cannot know
// which did.
func TestUncleanInOneSpace(t *testing.T) {
	const other = "other"
	ctx := context.Background()
	w := newWorld(t)
	w.ok(w.Knowledge.CreateSpace(percached.Space{Name: other, Kind: "notes"}))
	unclean := func(when string, want ...int) {
		t.Helper()
		for i, name := range []string{space, other, ""} {
			if n, err := w.Unclean(name); n != want[i] || err != nil {
				t.Errorf("%s: %d deletions of %q, want %d: %v", when, n, name, want[i], err)
			}
		}
	}
	unclean("nothing was deleted", 0, 0, 0)
	w.ok(w.RemoveFromMeta(ctx, space, func() error { return nil }))
	unclean("deleted", 1, 0, 1)
	w.ok(w.CleanUp(ctx, nil))
	unclean("cleaned up", 0, 0, 0)
	w.ok(w.RemoveFromMeta(ctx, space, func() error { return nil }))
	w.close()
	w.open()
	w.ok(w.Recover(ctx, true))
	unclean("after a crash", 1, 1, 1)
}
