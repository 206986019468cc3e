package backend

import (
	"context"
	"errors"
	"testing"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/scheduler"
)

// A space becomes read-only when the changes in progress have ended, and refuses others from
// the beginning.
func TestReadOnlyAwaitsWrites(t *testing.T) {
	b := scriptedBackend(t)
	change := func(ctx context.Context, patch string) error {
		_, err := b.API().ChangeSpace(ctx, api.SpaceChange{InSpace: api.InSpace{Space: nodetest.Space}, Merge: []byte(patch)})
		return err
	}
	end, err := b.beginWrite(nodetest.Space)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := change(ended, `{"read_only":true}`); !errors.Is(err, context.Canceled) {
		t.Errorf("it did not wait: %v", err)
	}
	if _, err := b.beginWrite(nodetest.Space); err == nil {
		t.Error("a change began meanwhile")
	}
	end()
	if err := change(ended, `{"read_only":true}`); err != nil {
		t.Error(err)
	}
	if err := change(t.Context(), `{"k":3}`); err == nil || err.Error() != api.SpaceReadOnly().Error() {
		t.Errorf("another setting was changed: %v", err)
	}
	if err := change(t.Context(), `{"read_only":null}`); err != nil {
		t.Error(err)
	}
	if end, err = b.beginWrite(nodetest.Space); err != nil {
		t.Fatal(err)
	}
	end()
}

// While an import looks at a space and takes its place, no change is in progress or begins.
func TestImportExcludesWrites(t *testing.T) {
	b := scriptedBackend(t)
	end, err := b.beginWrite(nodetest.Space)
	if err != nil {
		t.Fatal(err)
	}
	look := func() error {
		_, err := b.beginWrite(nodetest.Space)
		return err
	}
	if err := b.writes.exclude(nodetest.Space, look); fault.KindOf(err) != fault.Conflict {
		t.Errorf("during a change: %v", err)
	}
	end()
	if err := b.writes.exclude(nodetest.Space, look); err == nil || err.Error() != api.SpaceReadOnly().Error() {
		t.Errorf("a change began: %v", err)
	}
	if end, err = b.beginWrite(nodetest.Space); err != nil {
		t.Fatal(err)
	}
	end()
}

// Every operation in a space that was moved is redirected, but for its settings, deletion,
// export and uploads that were sent before.
func TestMovedIsRedirected(t *testing.T) {
	b := scriptedBackend(t)
	ctx, in := t.Context(), api.InSpace{Space: nodetest.Space}
	f := b.API()
	if due, err := b.Worker.Due(ctx, in.Space, scheduler.Abstract, 9); err != nil || len(due) == 0 {
		t.Fatalf("no idle work is due: %v", err)
	}
	to := "http://127.0.0.1:1"
	given[api.Space](t)(f.ChangeSpace(ctx, api.SpaceChange{InSpace: in, Merge: []byte(`{"moved_to":"` + to + `"}`)}))
	one := api.OneDocument{InSpace: in}
	want := api.SpaceMoved(to).Error()
	for name, do := range map[string]func() error{
		"ask":       func() error { _, err := f.Ask(ctx, api.AskRequest{Space: in.Space}, api.Listener{}); return err },
		"complete":  func() error { _, err := f.Complete(ctx, api.TypingRequest{Space: in.Space}, nil); return err },
		"upload":    func() error { _, err := f.Upload(ctx, api.Upload{Space: in.Space}); return err },
		"documents": func() error { _, err := f.Documents(ctx, api.DocumentPage{Page: api.Page{InSpace: in}}); return err },
		"document":  func() error { _, err := f.Document(ctx, one); return err },
		"fact":      func() error { _, err := f.AddFact(ctx, api.AddFactRequest{InSpace: in}); return err },
		"history":   func() error { _, err := f.History(ctx, api.Page{InSpace: in}); return err },
		"entries":   func() error { _, err := f.Entries(ctx, api.EntryPage{Page: api.Page{InSpace: in}}); return err },
		"predict":   func() error { _, err := f.Predict(ctx, in); return err },
	} {
		if err := do(); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.Space(ctx, in); err != nil {
		t.Error(err)
	}
	if _, err := f.Uploads(ctx, api.Page{InSpace: in}); err != nil {
		t.Error(err)
	}
	if due, err := b.Worker.Due(ctx, in.Space, scheduler.Abstract, 9); err != nil || len(due) > 0 {
		t.Errorf("idle work is due: %v %v", due, err)
	}
}
