package ingest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank"
)

func TestAdd(t *testing.T) {
	w := newWorld(t)
	if d := cmp.Diff(ingest.Report{Added: 2, Chunks: 2}, w.add(note("a", "Ducks swim."), note("b", "Otters swim."))); d != "" {
		t.Error(d)
	}
	w.ask("Do ducks swim?", "a")
	w.ask("Do otters swim?", "b")
	if d := cmp.Diff(ingest.Report{Unchanged: 1, Replaced: 1, Chunks: 1}, w.add(note("a", "Ducks fly."), note("b", "Otters swim."))); d != "" {
		t.Error(d)
	}
	// The answer of the earlier version is stale, and its tensors are deleted.
	if d := cmp.Diff(stored{Chunks: 2, Indexed: 2, Vectors: 2, Slices: 1, Entries: 2, Stale: 1, History: 2}, w.stored()); d != "" {
		t.Error(d)
	}
	if w.asked.settles == 0 {
		t.Error("questions under way may bring the former edition back")
	}
	if _, err := w.Add(context.Background(), "none", from(note("a", "b")), nil); kind(err) != fault.NotFound {
		t.Error(err)
	}
}

// Documents that cannot be ingested are named, and the others are stored.
func TestAddSomeBad(t *testing.T) {
	w := newWorld(t)
	keyless := note("", "This has no key.")
	keyless.Path = "/x/keyless.txt"
	r := w.add(note("a", "Ducks swim."), keyless, note("b", "Otters swim."), keyless)
	if r.Added != 2 || r.Failed != 2 || len(r.Failures) != 2 || r.Failures[0].Name != keyless.Path || !strings.Contains(r.Failures[0].Reason, "no key") {
		t.Errorf("%+v", r)
	}
	if s := w.stored(); s.Indexed != 2 {
		t.Errorf("%+v", s)
	}
}

func TestAddCutShort(t *testing.T) {
	w := newWorld(t)
	broken := errors.New("the mailbox is broken")
	for name, tc := range map[string]struct {
		end  func(cancel func()) error
		kind fault.Kind
	}{
		"reader":  {func(func()) error { return broken }, fault.Internal},
		"context": {func(cancel func()) error { cancel(); return context.Canceled }, fault.Timeout},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		_, err := w.Add(ctx, space, func(_ context.Context, emit func(*knowledgebank.Source) error, failed func(string, error)) error {
			failed("x.pdf", fault.New(fault.Invalid, "reader", "no text"))
			if err := emit(note("a", "Ducks swim.")); err != nil {
				return err
			}
			return tc.end(cancel)
		}, nil)
		if kind(err) != tc.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDelete(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	w.add(note("a", "The password of Zyxwv is swordfish."), note("b", "Otters swim."))
	w.ask("What is the password of Zyxwv?", "a")
	w.ask("Do otters swim?", "b")
	if len(w.traces("zyxwv")) == 0 {
		t.Fatal("the search finds nothing where there is something")
	}
	r, err := w.Delete(ctx, space, percached.NewDocumentID("a"))
	w.ok(err)
	want := ingest.Receipt{Documents: 1, Chunks: 1, Vectors: 1, Indexed: 1, Slices: 1, Bytes: r.Bytes, Entries: 1, History: 1, Summaries: 1, Predicted: 1}
	if d := cmp.Diff(want, r); d != "" || r.Bytes == 0 {
		t.Error(d)
	}
	w.ok(w.CleanUp(ctx, nil))
	if found := w.traces("zyxwv"); len(found) > 0 {
		t.Errorf("left: %q", found)
	}
	if d := cmp.Diff(stored{Chunks: 1, Indexed: 1, Vectors: 1, Slices: 1, Entries: 1, History: 1}, w.stored()); d != "" {
		t.Error(d)
	}
	if _, err := w.Delete(ctx, space, percached.NewDocumentID("a")); kind(err) != fault.NotFound {
		t.Error(err)
	}
	w.reopen(true)
	if d := cmp.Diff(stored{Chunks: 1, Indexed: 1, Vectors: 1, Slices: 1, Entries: 1, History: 1}, w.stored()); d != "" {
		t.Error(d)
	}
}

// Deleting a document also deletes what depends on its earlier versions.
func TestDeleteEarlierEditions(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	w.add(note("a", "The password of Zyxwv is swordfish."), note("b", "Otters swim."))
	w.ask("What is the password of Zyxwv?", "a")
	w.add(note("a", "There is no password any more."))
	r, err := w.Delete(ctx, space, percached.NewDocumentID("a"))
	w.ok(err)
	if r.Entries != 1 || r.History != 1 || r.Chunks != 1 {
		t.Errorf("%+v", r)
	}
	w.ok(w.CleanUp(ctx, nil))
	if found := w.traces("zyxwv"); len(found) > 0 {
		t.Errorf("left: %q", found)
	}
}

// An unreadable answer prevents no document from being forgotten, and is deleted with its
// own.
func TestDeleteBesideDamage(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	w.add(note("a", "The password of Zyxwv is swordfish."), note("b", "Otters swim."))
	w.ask("What is the password of Zyxwv?", "a")
	w.ask("Do otters swim?", "b")
	e, _, err := w.Bank.Exact(space, "Do otters swim?")
	w.ok(err)
	e.Answer = strings.Repeat("always ", 10<<10) // so large that it is in the value log
	_, err = w.Bank.Put(ctx, e)
	w.ok(err)
	for _, file := range w.traces(e.Answer) {
		all, err := os.ReadFile(file)
		w.ok(err)
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		w.ok(err)
		_, err = f.WriteAt([]byte("n"), int64(bytes.Index(all, []byte(e.Answer))))
		w.ok(errors.Join(err, f.Close()))
	}
	if _, _, err := w.Bank.Exact(space, "Do otters swim?"); !errors.Is(err, kv.ErrDamaged) {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b"} {
		r, err := w.Delete(ctx, space, percached.NewDocumentID(key))
		if err != nil || r.Entries != 1 || r.History != 1 {
			t.Errorf("%s: %+v, %v", key, r, err)
		}
	}
	w.ok(w.CleanUp(ctx, nil))
	if found := append(w.traces("zyxwv"), w.traces("lways always")...); len(found) > 0 {
		t.Errorf("left: %q", found)
	}
}

// A chunk shared with another document stays, with what depends on it.
func TestDeleteShared(t *testing.T) {
	w := newWorld(t)
	one, two := note("a", "Ducks swim."), note("b", "Ducks swim.")
	one.Title, two.Title = "Ducks", "Ducks"
	w.add(one, two)
	w.ask("Do ducks swim?", "a")
	r, err := w.Delete(context.Background(), space, percached.NewDocumentID("a"))
	w.ok(err)
	if d := cmp.Diff(ingest.Receipt{Documents: 1}, r); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(stored{Chunks: 1, Indexed: 1, Vectors: 1, Slices: 1, Entries: 1, History: 1}, w.stored()); d != "" {
		t.Error(d)
	}
}

func TestDeleteSpace(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	const secret = "zyxwv-affair"
	w.ok(w.Knowledge.CreateSpace(percached.Space{Name: secret, Kind: "notes"}))
	_, err := w.Add(ctx, secret, from(note("a", "Tell nobody."), note("b", "Nor them.")), nil)
	w.ok(err)
	// One of its documents waits for CleanUp.
	_, err = w.Delete(ctx, secret, percached.NewDocumentID("b"))
	w.ok(err)
	r, err := w.DeleteSpace(ctx, secret)
	w.ok(err)
	if r.Documents != 1 || r.Chunks != 1 || r.Vectors != 1 || r.Indexed != 1 {
		t.Errorf("%+v", r)
	}
	if w.pred.dropped != 2 || w.pred.changed == 0 {
		t.Errorf("predictor and scheduler were not told: %+v", w.pred)
	}
	w.ok(w.CleanUp(ctx, nil))
	if found := w.traces("zyxwv"); len(found) > 0 {
		t.Errorf("its name is left: %q", found)
	}
	if _, err := w.DeleteSpace(ctx, secret); kind(err) != fault.NotFound {
		t.Error(err)
	}
	w.reopen(true)
	if spaces, err := w.Knowledge.Spaces(); err != nil || len(spaces) != 1 {
		t.Error(spaces, err)
	}
}

// set writes a note as a killed process leaves it; see pending.go.
func (w *world) set(whole, gone bool, document string, chunks []percached.ChunkID) {
	w.Helper()
	p := map[string]any{"space": space, "whole": whole, "gone": gone, "chunks": chunks, "document": percached.DocumentID{}}
	id := percached.DocumentID{}
	if !whole {
		id = percached.NewDocumentID(document)
		p["document"] = id
	}
	b, err := json.Marshal(p)
	w.ok(err)
	sum := sha256.Sum256([]byte(space))
	key := slices.Concat([]byte("Fp"), sum[:16], id[:])
	w.ok(w.Meta.Update(func(tx *kv.Tx) error { return tx.Set(key, append([]byte{1}, b...)) }))
}

// Recover completes a Delete interrupted after any of its steps.
func TestRecoverDelete(t *testing.T) {
	ctx := context.Background()
	for name, steps := range map[string]func(w *world, id percached.DocumentID, chunks []percached.ChunkID){
		"noted": func(w *world, _ percached.DocumentID, chunks []percached.ChunkID) { w.set(false, false, "a", chunks) },
		"out of the knowledge bank": func(w *world, id percached.DocumentID, chunks []percached.ChunkID) {
			w.set(false, false, "a", chunks)
			_, err := w.Knowledge.Delete(ctx, space, id)
			w.ok(err)
		},
		"and noted": func(w *world, id percached.DocumentID, chunks []percached.ChunkID) {
			_, err := w.Knowledge.Delete(ctx, space, id)
			w.ok(err)
			w.set(false, true, "a", chunks)
		},
		"out of the tree": func(w *world, id percached.DocumentID, chunks []percached.ChunkID) {
			_, err := w.Knowledge.Delete(ctx, space, id)
			w.ok(err)
			w.set(false, true, "a", chunks)
			_, _, err = w.Tree.Forget(space, chunks)
			w.ok(err)
		},
		"out of all layers": func(w *world, id percached.DocumentID, _ []percached.ChunkID) {
			_, err := w.Library.Delete(ctx, space, id)
			w.ok(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(note("a", "The password of Zyxwv is swordfish."), note("b", "Otters swim."))
			chunks := w.ask("What is the password of Zyxwv?", "a")
			steps(w, percached.NewDocumentID("a"), chunks)
			w.reopen(true)
			if d := cmp.Diff(stored{Chunks: 1, Indexed: 1, Vectors: 1}, w.stored()); d != "" {
				t.Error(d)
			}
			if found := w.traces("zyxwv"); len(found) > 0 {
				t.Errorf("left: %q", found)
			}
		})
	}
}

func TestRecoverDeleteSpace(t *testing.T) {
	for name, gone := range map[string]bool{"noted": false, "gone": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(note("a", "The password of Zyxwv is swordfish."))
			w.ask("What is the password of Zyxwv?", "a")
			w.set(true, gone, "", nil)
			if gone { // and created again before the dependent data was forgotten
				_, _, err := w.Knowledge.DeleteSpace(space)
				w.ok(err)
				w.ok(w.Knowledge.CreateSpace(percached.Space{Name: space, Kind: "notes"}))
				w.add(note("b", "Otters swim."))
			}
			w.reopen(true)
			if found := w.traces("zyxwv"); len(found) > 0 {
				t.Errorf("left: %q", found)
			}
			if _, err := w.Knowledge.Space(space); (err == nil) != gone {
				t.Error(err)
			}
			if !gone {
				return
			}
			if d := cmp.Diff(stored{Chunks: 1, Indexed: 1, Vectors: 1}, w.stored()); d != "" {
				t.Error(d)
			}
		})
	}
}

// Recover completes an Add interrupted before the other layers followed.
func TestRecoverAdd(t *testing.T) {
	w := newWorld(t)
	w.add(note("a", "Ducks swim."))
	w.ask("Do ducks swim?", "a")
	_, err := w.Knowledge.AddAll(context.Background(), space, []*knowledgebank.Source{note("a", "Ducks fly."), note("b", "Otters swim.")})
	w.ok(err)
	w.reopen(true)
	if d := cmp.Diff(stored{Chunks: 2, Indexed: 2, Vectors: 2, Entries: 1, Stale: 1, History: 1}, w.stored()); d != "" {
		t.Error(d)
	}
}

// CleanUp completes a failed Delete first; otherwise its note would be deleted and its
// answers would stay.
func TestCleanUpEndsWhatFailed(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	w.add(note("a", "The password of Zyxwv is swordfish."), note("b", "Otters swim."))
	w.ask("What is the password of Zyxwv?", "a")
	w.asked.fails = fault.New(fault.Unavailable, "history", "the disk is full")
	if _, err := w.Delete(ctx, space, percached.NewDocumentID("a")); kind(err) != fault.Unavailable {
		t.Fatal(err)
	}
	w.asked.fails = nil
	w.ok(w.CleanUp(ctx, nil))
	if d := cmp.Diff(stored{Chunks: 1, Indexed: 1, Vectors: 1}, w.stored()); d != "" {
		t.Error(d)
	}
	if found := w.traces("zyxwv"); len(found) > 0 {
		t.Errorf("left: %q", found)
	}
}

// A Delete without effect deletes nothing later.
func TestDeleteThatFailed(t *testing.T) {
	w := newWorld(t)
	w.add(note("a", "Ducks swim."))
	ctx := ended{context.Background()}
	if _, err := w.Delete(ctx, space, percached.NewDocumentID("a")); kind(err) != fault.Timeout {
		t.Fatal(err)
	}
	w.add(note("a", "Ducks swim, and this was acknowledged."))
	w.reopen(false)
	if s := w.stored(); s.Chunks != 1 {
		t.Errorf("%+v", s)
	}
}

// ended is a context that ends when Err is called.
type ended struct{ context.Context }

func (ended) Err() error { return context.Canceled }

// A caller that waits for another change can give up.
func TestWaiting(t *testing.T) {
	w := newWorld(t)
	w.add(note("a", "Ducks swim."))
	ctx, cancel := context.WithCancel(context.Background())
	w.ok(w.CleanUp(ctx, func(int64, int64) {})) // nothing to do
	_, err := w.Delete(ctx, space, percached.NewDocumentID("a"))
	w.ok(err)
	err = w.CleanUp(ctx, func(int64, int64) { // while a change is under way
		cancel()
		if _, err := w.Delete(ctx, space, percached.NewDocumentID("b")); kind(err) != fault.Timeout {
			t.Error(err)
		}
	})
	if kind(err) != fault.Timeout {
		t.Error(err)
	}
	w.reopen(false)
}

// More notes than fit into a transaction are deleted when all is clean.
func TestCleanUpManyNotes(t *testing.T) {
	w := newWorld(t)
	for i := range 2000 {
		w.set(false, true, fmt.Sprint(i), nil)
	}
	w.ok(w.CleanUp(context.Background(), nil))
	if due, err := w.NeedsCleanUp(); due || err != nil {
		t.Error(due, err)
	}
}
