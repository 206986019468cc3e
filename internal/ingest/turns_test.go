package ingest_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// stuck is an embedder that hangs on texts with a certain word until it is released.
type stuck struct {
	percachedEmbedder
	word   string
	inside chan struct{} // closed when it is at one
	free   atomic.Bool   // it was told to
}

type percachedEmbedder interface {
	Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error)
	Info() percached.EmbedderInfo
	Close() error
}

func (s *stuck) Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error) {
	if strings.Contains(strings.Join(texts, " "), s.word) && !s.free.Load() {
		select {
		case <-s.inside:
		default:
			close(s.inside)
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.percachedEmbedder.Embed(ctx, p, texts)
}

const other = "other"

// newStuckWorld has two spaces with a document each, and an Add to the first that hangs.
func newStuckWorld(t *testing.T) (w *world, s *stuck, cancel context.CancelFunc, added <-chan error) {
	t.Helper()
	w = newWorld(t)
	w.ok(w.Knowledge.CreateSpace(percached.Space{Name: other, Kind: "notes"}))
	w.add(note("a", "Ducks swim."))
	_, err := w.Add(context.Background(), other, from(note("b", "Geese fly.")), nil)
	w.ok(err)
	s = &stuck{percachedEmbedder: w.embedder, word: "treacle", inside: make(chan struct{})}
	w.reembed(s)
	ctx, cancel := context.WithCancel(context.Background())
	end := make(chan error, 1)
	go func() {
		_, err := w.Add(ctx, space, from(note("c", "This goes like treacle.")), nil)
		end <- err
	}()
	<-s.inside
	t.Cleanup(func() { cancel() })
	return w, s, cancel, end
}

// within fails the test if fn does not return; the timeout only limits a failure.
func (w *world) within(fn func() error) error {
	w.Helper()
	end := make(chan error, 1)
	go func() { end <- fn() }()
	select {
	case err := <-end:
		return err
	case <-time.After(time.Minute):
		w.Fatal("it waits for what is added to another space")
		return nil
	}
}

// An Add to one space delays neither changes of another nor deletions from meta.
func TestSpacesDoNotWait(t *testing.T) {
	w, _, cancel, added := newStuckWorld(t)
	ctx := context.Background()
	for name, change := range map[string]func() error{
		"delete": func() error {
			_, err := w.Delete(ctx, other, percached.NewDocumentID("b"))
			return err
		},
		"add": func() error {
			_, err := w.Add(ctx, other, from(note("d", "Swans sing.")), nil)
			return err
		},
		"soil": func() error { return w.RemoveFromMeta(ctx, other, func() error { return nil }) },
		"delete the space": func() error {
			w.ok(w.Knowledge.CreateSpace(percached.Space{Name: "third", Kind: "notes"}))
			_, err := w.DeleteSpace(ctx, "third")
			return err
		},
	} {
		if err := w.within(change); err != nil {
			t.Error(name, err)
		}
	}
	cancel()
	if err := <-added; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Deleting a space does not wait for an Add to it: the Add ends with an error that
// suggests a retry, because the space may stay.
func TestDeleteSpaceEndsAdd(t *testing.T) {
	w, _, _, added := newStuckWorld(t)
	if err := w.within(func() error { _, err := w.DeleteSpace(context.Background(), space); return err }); err != nil {
		t.Fatal(err)
	}
	if err := <-added; kind(err) != fault.Unavailable {
		t.Error(err)
	}
	if _, err := w.Add(context.Background(), space, from(), nil); kind(err) != fault.NotFound {
		t.Error(err)
	}
	if w.Behind() {
		t.Error("a space that is gone is behind")
	}
}

// A document stored by an interrupted Add can be found after CatchUp.
func TestCatchUp(t *testing.T) {
	w, s, cancel, added := newStuckWorld(t)
	cancel()
	<-added
	if !w.Behind() {
		t.Error("it is told nowhere")
	}
	s.free.Store(true)
	w.ok(w.CatchUp(context.Background(), space))
	if s := w.stored(); s.Chunks != 2 || s.Indexed != 2 || s.Vectors != 2 || w.Behind() {
		t.Errorf("%+v", s)
	}
}

// A caller that waits for a turn can give up.
func TestWaitingEnds(t *testing.T) {
	w, _, _, _ := newStuckWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.Delete(ctx, space, percached.NewDocumentID("a")); kind(err) != fault.Timeout {
		t.Error(err)
	}
	if err := w.CleanUp(ctx, nil); kind(err) != fault.Timeout {
		t.Error(err)
	}
}
