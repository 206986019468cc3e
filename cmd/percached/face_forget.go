package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/fault"
	"github.com/percached/percached/internal/home"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/internal/token"
)

func wireReceipt(r ingest.Receipt) api.Receipt {
	return api.Receipt{
		Documents: r.Documents, Chunks: r.Chunks, Vectors: r.Vectors, Indexed: r.Indexed, Slices: r.Slices, SliceBytes: r.Bytes,
		Entries: r.Entries, History: r.History, Summaries: r.Summaries, Predictions: r.Predicted, CleanedUp: r.CleanedUp,
	}
}

// beside is what lies in the data folder beside the layers.
type beside struct {
	inbox  *inbox.Inbox // nil: nothing was ever uploaded
	tokens *token.Store
}

// beside opens what a daemon has open anyway.
func (s *service) beside(c setup) (b beside, err error) {
	if home.Exists(s.home.Path("inbox")) {
		if b.inbox, err = openInbox(s, c, slog.New(slog.DiscardHandler)); err != nil {
			return b, err
		}
	}
	b.tokens, err = token.Open(s.home.Path())
	return b, err
}

// deleteDocument makes a document forgotten. Its bytes leave the disk with
// CleanUp.
func (s *service) deleteDocument(ctx context.Context, b beside, space string, id percached.DocumentID) (ingest.Receipt, error) {
	_, err := s.knowledge.Document(space, id)
	if err != nil && fault.KindOf(err) != fault.Internal { // what is damaged can be forgotten, too
		return ingest.Receipt{}, err
	}
	if b.inbox != nil { // uploads must neither bring it back nor name it
		if err := b.inbox.Withhold(ctx, space, id); err != nil {
			return ingest.Receipt{}, err
		}
		if err := b.inbox.Forget(space); err != nil {
			return ingest.Receipt{}, err
		}
	}
	return s.library.Delete(ctx, space, id)
}

// deleteSpace makes a space forgotten, with its uploads, prompts and tokens. Called
// again it ends what was cut short, although the space is gone.
func (s *service) deleteSpace(ctx context.Context, b beside, space string) (ingest.Receipt, error) {
	// Tokens and prompts first: of a space that is made anew under the name they
	// must not hold, whenever this is cut short.
	if err := errors.Join(b.tokens.DropSpace(space), s.prompts(space).remove()); err != nil {
		return ingest.Receipt{}, err
	}
	got, err := s.library.DeleteSpace(ctx, space)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return got, err
	}
	if b.inbox != nil { // now that nothing more is accepted
		if err := b.inbox.DropSpace(space); err != nil {
			return got, err
		}
	}
	if err == nil {
		err = s.limitTensors(percached.Space{Name: space})
	}
	return got, err
}

func (f *face) deleteDocument(ctx context.Context, o api.Forgetting) (api.Receipt, error) {
	got, err := f.service.deleteDocument(ctx, beside{f.inbox, f.tokens}, o.Space, o.Document)
	if err != nil {
		return api.Receipt{}, err
	}
	return f.forgotten(ctx, o, got), nil
}

func (f *face) deleteSpace(ctx context.Context, o api.Forgetting) (api.Receipt, error) {
	f.changing.Lock()
	got, err := f.service.deleteSpace(ctx, beside{f.inbox, f.tokens}, o.Space)
	f.changing.Unlock() // cleaning up takes long
	if err != nil {
		return api.Receipt{}, err
	}
	return f.forgotten(ctx, o, got), nil
}

// forgotten tells of what was forgotten, and takes its bytes off the disk if that
// was asked for. It is forgotten even where that fails: the receipt says so, and
// idle work tries again.
func (f *face) forgotten(ctx context.Context, o api.Forgetting, r ingest.Receipt) api.Receipt {
	if o.CleanUp {
		err := f.service.library.CleanUp(ctx, nil)
		if r.CleanedUp = err == nil; err != nil {
			f.log.Warn("what was forgotten is still on the disk", "kind", fault.KindOf(err), "error", err)
		}
	}
	out := wireReceipt(r)
	f.service.news.forgot(out.Documents)
	f.tell(api.EventForgotten, o.Space, map[string]any{
		"documents": out.Documents, "chunks": out.Chunks, "slices": out.Slices, "slice_bytes": out.SliceBytes, "entries": out.Entries,
		"history": out.History, "summaries": out.Summaries, "predictions": out.Predictions, "cleaned_up": out.CleanedUp,
	})
	return out
}
