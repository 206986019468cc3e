package backend

import (
	"context"
	"errors"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/ingest"
)

func wireReceipt(r ingest.Receipt) api.Receipt {
	return api.Receipt{
		Documents: r.Documents, Chunks: r.Chunks, Vectors: r.Vectors, Indexed: r.Indexed, Slices: r.Slices, SliceBytes: r.Bytes,
		Entries: r.Entries, History: r.History, Summaries: r.Summaries, Predictions: r.Predicted, CleanedUp: r.CleanedUp,
	}
}

func (b *Backend) deleteDocument(ctx context.Context, o api.DeleteRequest) (api.Receipt, error) {
	ids, err := b.Knowledge.PublicIDs(o.Space)
	if err != nil {
		return api.Receipt{}, err
	}
	o.Document = ids.DocumentOf(o.Document)
	_, err = b.Knowledge.Document(o.Space, o.Document)
	if err != nil && fault.KindOf(err) != fault.Internal { // what is damaged can be forgotten, too
		return api.Receipt{}, err
	}
	// Uploads must neither bring it back nor name it.
	if err := b.Inbox.Withhold(ctx, o.Space, o.Document); err != nil {
		return api.Receipt{}, err
	}
	if err := b.Inbox.Forget(o.Space); err != nil {
		return api.Receipt{}, err
	}
	got, err := b.Library.Delete(ctx, o.Space, o.Document)
	if err != nil {
		return api.Receipt{}, err
	}
	return b.forgotten(ctx, o, got), nil
}

func (b *Backend) deleteSpace(ctx context.Context, o api.DeleteRequest) (api.Receipt, error) {
	b.changing.Lock()
	got, err := b.dropSpace(ctx, o.Space)
	b.changing.Unlock() // cleaning up takes long
	if err != nil {
		return api.Receipt{}, err
	}
	return b.forgotten(ctx, o, got), nil
}

// dropSpace makes a space forgotten, with its uploads, prompts and tokens. Called
// again it ends what was cut short, although the space is gone.
func (b *Backend) dropSpace(ctx context.Context, space string) (ingest.Receipt, error) {
	// Tokens and prompts first: of a space that is made anew under the name they
	// must not hold, whenever this is cut short.
	if err := errors.Join(b.Tokens.DropSpace(space), b.PromptFiles(space).Remove()); err != nil {
		return ingest.Receipt{}, err
	}
	got, err := b.Library.DeleteSpace(ctx, space)
	if err != nil {
		if _, look := b.Knowledge.Space(space); fault.KindOf(look) != fault.NotFound {
			return got, err
		}
	}
	// Now that nothing more is accepted: the space has gone, even if not all of it did.
	if late := b.Inbox.DropSpace(space); late != nil {
		return got, late
	}
	if err == nil {
		err = b.LimitTensors(percached.Space{Name: space})
	}
	return got, err
}

// cleanUp takes the bytes of what was forgotten off the disk, and says whether they
// are gone.
func (b *Backend) cleanUp(ctx context.Context) bool {
	err := b.Library.CleanUp(ctx, nil)
	if err != nil {
		b.Logger.Warn("what was forgotten is still on the disk", "kind", fault.KindOf(err), "error", err)
	}
	return err == nil
}

// forgotten tells of what was forgotten, and takes its bytes off the disk if that
// was asked for. It is forgotten even where that fails, or an upload that waits holds
// some of it: the receipt says so; idle work tries again, and the upload ends.
func (b *Backend) forgotten(ctx context.Context, o api.DeleteRequest, r ingest.Receipt) api.Receipt {
	if o.CleanUp {
		r.CleanedUp = b.cleanUp(ctx) && !b.Inbox.Withholds(o.Space, o.Document)
	}
	out := wireReceipt(r)
	b.recorder.Metrics.Forgotten(out.Documents)
	b.tell(api.EventForgotten, o.Space, map[string]any{
		"documents": out.Documents, "chunks": out.Chunks, "slices": out.Slices, "slice_bytes": out.SliceBytes, "entries": out.Entries,
		"history": out.History, "summaries": out.Summaries, "predictions": out.Predictions, "cleaned_up": out.CleanedUp,
	})
	return out
}
