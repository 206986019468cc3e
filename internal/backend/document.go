package backend

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"golang.org/x/text/cases"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank"
)

func wireDocument(ids percached.PublicIDs, d percached.Document) api.Document {
	return api.Document{
		ID: ids.Document(d.ID), Key: d.Key, Title: d.Title, Source: d.Source, Format: d.Format, Date: d.Date, Path: d.Path, Added: d.Added.UTC(),
		Words: d.Words, Chunks: len(d.Chunks),
	}
}

func wireChunk(ids percached.PublicIDs, c percached.Chunk) api.ChunkText {
	return api.ChunkText{Chunk: ids.Chunk(c.ID), About: strings.TrimPrefix(c.Head, "### "), Body: c.Body}
}

const wrongCursor = "must be the next of an earlier page; begin again without it"

// pageOf returns up to limit items behind the one that a cursor names, and the cursor of the
// next page. If that item was deleted, the cursor is wrong.
func pageOf[T any](all []T, limit int, after string, name func(T) string) (page []T, next string, err error) {
	if after != "" {
		at := slices.IndexFunc(all, func(t T) bool { return name(t) == after })
		if at < 0 {
			return nil, "", invalid("query:after", wrongCursor)
		}
		all = all[at+1:]
	}
	if len(all) > limit {
		all = all[:limit]
		next = name(all[limit-1])
	}
	return all, next, nil
}

// wanted returns which documents a client asks for, or nil for all.
func wanted(p api.DocumentPage) func(percached.Document) bool {
	if p.Find == "" && p.Source == "" && p.Format == "" && p.Since.IsZero() && p.Until.IsZero() {
		return nil
	}
	fold := cases.Fold()
	words, source := fold.String(string(p.Find)), fold.String(string(p.Source))
	return func(d percached.Document) bool {
		from := fold.String(d.Source)
		dated := !d.Date.IsZero()
		return (strings.Contains(fold.String(d.Title), words) || strings.Contains(from, words)) && strings.Contains(from, source) &&
			(p.Format == "" || d.Format == string(p.Format)) &&
			(p.Since.IsZero() || dated && p.Since.Compare(d.Date) <= 0) && (p.Until.IsZero() || dated && p.Until.Compare(d.Date) >= 0)
	}
}

// documentsRead is the number of documents read at once in a search.
const documentsRead = 500

// pageOfDocuments returns a page of a space's documents in a stable order. With an error that
// is knowledgebank.ErrDamaged it returns the readable documents.
func (b *Backend) pageOfDocuments(ctx context.Context, p api.DocumentPage) (api.Documents, error) {
	out := api.Documents{Documents: []api.Document{}}
	var from percached.DocumentID
	if p.After != "" && from.UnmarshalText([]byte(p.After)) != nil {
		return out, invalid("query:after", wrongCursor)
	}
	st, err := b.Knowledge.Stats(p.Space)
	if err != nil {
		return out, err
	}
	out.Total = st.Documents
	ids, err := b.Knowledge.PublicIDs(p.Space)
	if err != nil {
		return out, err
	}
	if p.After != "" {
		from = ids.DocumentOf(from)
	}
	want := wanted(p)
	read := p.Limit + 1
	if want != nil {
		read = max(read, documentsRead)
	}
	var damaged error
	for {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		found, err := b.Knowledge.Documents(p.Space, from, read)
		if err != nil && !errors.Is(err, knowledgebank.ErrDamaged) {
			return out, err
		}
		damaged = errors.Join(damaged, err)
		for _, d := range found {
			from = d.ID
			if want != nil && !want(d) {
				continue
			}
			if len(out.Documents) == p.Limit {
				out.Next = out.Documents[p.Limit-1].ID.String()
				return out, damaged
			}
			out.Documents = append(out.Documents, wireDocument(ids, d))
		}
		if len(found) < read {
			return out, damaged
		}
	}
}

// document returns a document with its text, by its public ID.
func (b *Backend) document(_ context.Context, o api.OneDocument) (api.DocumentText, error) {
	space, id := o.Space, o.Document
	ids, err := b.Knowledge.PublicIDs(space)
	if err != nil {
		return api.DocumentText{}, err
	}
	d, err := b.Knowledge.Document(space, ids.DocumentOf(id))
	if err != nil {
		return api.DocumentText{}, err
	}
	chunks, err := b.Knowledge.Chunks(space, d.Chunks)
	out := api.DocumentText{Document: wireDocument(ids, d), Text: []api.ChunkText{}}
	for _, c := range chunks {
		out.Text = append(out.Text, wireChunk(ids, c))
	}
	return out, err
}

func (b *Backend) documents(ctx context.Context, p api.DocumentPage) (api.Documents, error) {
	page, err := b.pageOfDocuments(ctx, p)
	if errors.Is(err, knowledgebank.ErrDamaged) && len(page.Documents) > 0 {
		b.Logger.Warn("cannot read some documents; left them out of a list", "error", err)
		err = nil
	}
	return page, err
}

func wireUpload(u inbox.Upload) api.UploadStatus {
	r := u.Report
	return api.UploadStatus{
		ID: u.ID, Space: u.Space, State: api.UploadState(u.State), Accepted: u.Accepted, Ended: u.Ended, Files: u.Files, Bytes: u.Bytes, Read: u.Read,
		Added: r.Added, Unchanged: r.Unchanged, Replaced: r.Replaced, Failed: r.Failed, DeletedBefore: r.Deleted, Chunks: r.Chunks,
		Failures: wireFailures(r.Failures), LeftOut: wireFailures(r.LeftOut), Error: u.Error,
	}
}

func wireFailures(some []ingest.Failure) []api.Failure {
	out := []api.Failure{}
	for _, f := range some {
		out = append(out, api.Failure(f))
	}
	return out
}

func (b *Backend) upload(ctx context.Context, u api.Upload) (api.UploadStatus, error) {
	accept := b.Inbox.Accept
	if u.Again {
		accept = b.Inbox.AcceptAgain
	}
	got, err := accept(ctx, u.Space, u.Key, func(take inbox.Take) error { return u.Each(take) })
	if err == nil && u.Accepted != nil {
		u.Accepted(wireUpload(got))
	}
	if err == nil && u.Wait {
		got, err = b.Inbox.Wait(ctx, got.ID)
	}
	if err != nil {
		return api.UploadStatus{}, err
	}
	return wireUpload(got), nil
}

func (b *Backend) uploads(_ context.Context, p api.Page) (api.Uploads, error) {
	out := api.Uploads{Uploads: []api.UploadStatus{}}
	if _, err := b.Knowledge.Space(p.Space); err != nil {
		return out, err
	}
	found, next, err := pageOf(b.Inbox.List(p.Space, math.MaxInt), p.Limit, p.After, func(u inbox.Upload) string { return u.ID })
	for _, u := range found {
		out.Uploads = append(out.Uploads, wireUpload(u))
	}
	out.Next = next
	return out, err
}

func (b *Backend) uploadStatus(_ context.Context, o api.OneUpload) (api.UploadStatus, error) {
	if _, err := b.Knowledge.Space(o.Space); err != nil {
		return api.UploadStatus{}, err
	}
	u, err := b.Inbox.Get(o.Space, o.Upload)
	if err != nil {
		return api.UploadStatus{}, err
	}
	return wireUpload(u), nil
}

func (b *Backend) cancelUpload(_ context.Context, o api.OneUpload) (api.Nothing, error) {
	if _, err := b.Knowledge.Space(o.Space); err != nil {
		return api.Nothing{}, err
	}
	return api.Nothing{}, b.Inbox.Cancel(o.Space, o.Upload)
}

func wireReceipt(r ingest.Receipt) api.Receipt {
	bytes := api.BytesPending
	if r.CleanedUp {
		bytes = api.BytesGone
	}
	return api.Receipt{
		Documents: r.Documents, Chunks: r.Chunks, Vectors: r.Vectors, Indexed: r.Indexed, Slices: r.Slices, SliceBytes: r.Bytes,
		Entries: r.Entries, History: r.History, Summaries: r.Summaries, Predictions: r.Predicted, Turns: r.Turns, CleanedUp: r.CleanedUp, Bytes: bytes,
	}
}

func (b *Backend) deleteDocument(ctx context.Context, o api.DeleteDocumentRequest) (api.Receipt, error) {
	ids, err := b.Knowledge.PublicIDs(o.Space)
	if err != nil {
		return api.Receipt{}, err
	}
	o.Document = ids.DocumentOf(o.Document)
	_, err = b.Knowledge.Document(o.Space, o.Document)
	if err != nil && fault.KindOf(err) != fault.Internal { // a damaged document can be deleted, too
		return api.Receipt{}, err
	}
	// Waiting uploads must not add it again.
	if err := b.Inbox.Withhold(ctx, o.Space, o.Document); err != nil {
		return api.Receipt{}, err
	}
	if err := b.Inbox.Forget(o.Space); err != nil {
		return api.Receipt{}, err
	}
	remove := b.Library.Delete
	if o.Remember {
		remove = b.Library.DeleteForGood
	}
	got, err := remove(ctx, o.Space, o.Document)
	if err != nil {
		return api.Receipt{}, err
	}
	return b.finishDeletion(ctx, o.DeleteRequest, got), nil
}

func (b *Backend) deleteSpace(ctx context.Context, o api.DeleteRequest) (api.Receipt, error) {
	b.spacesMu.Lock()
	got, err := b.removeSpace(ctx, o.Space)
	b.Events.Forget(o.Space) // of a stream that began meanwhile
	b.spacesMu.Unlock()      // cleaning up is slow
	if err != nil {
		return api.Receipt{}, err
	}
	return b.finishDeletion(ctx, o, got), nil
}

// removeSpace deletes a space with its uploads, prompts and tokens. A second call completes
// an interrupted one, even if the space is already deleted.
func (b *Backend) removeSpace(ctx context.Context, space string) (ingest.Receipt, error) {
	// Tokens and prompts first. If this is interrupted, they must not apply to a new space of
	// the same name.
	if err := errors.Join(b.Tokens.DropSpace(space), b.PromptFiles(space).Remove(), b.removeSyncFiles(space)); err != nil {
		return ingest.Receipt{}, err
	}
	b.Events.Forget(space)
	got, err := b.Library.DeleteSpace(ctx, space)
	if err != nil {
		if _, look := b.Knowledge.Space(space); fault.KindOf(look) != fault.NotFound {
			return got, err
		}
	}
	// The space no longer accepts uploads, even if its deletion is incomplete.
	if late := b.Inbox.DropSpace(space); late != nil {
		return got, late
	}
	if err == nil {
		err = b.LimitTensors(percached.Space{Name: space})
	}
	return got, err
}

// removeSyncFiles removes what is known of the files and mails that a space follows.
func (b *Backend) removeSyncFiles(space string) error {
	files := b.Home.SyncFiles()
	err := os.RemoveAll(files.Space(space))
	if err == nil {
		err = os.Remove(files.State(space))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Unavailable, "backend.removeSyncFiles", "%w", err)
	}
	return nil
}

// deletions says whether bytes of deleted data are still on disk. A waiting upload may also
// contain a deleted document.
func (b *Backend) deletions(_ context.Context, in api.InSpace) (api.Deletions, error) {
	if _, err := b.Knowledge.Space(in.Space); err != nil {
		return api.Deletions{}, err
	}
	pending, err := b.Library.Unclean(in.Space)
	if err != nil {
		return api.Deletions{}, err
	}
	if b.Inbox.WithholdsAny(in.Space) {
		pending = max(pending, 1)
	}
	out := api.Deletions{Bytes: api.BytesGone, Pending: pending}
	if pending > 0 {
		out.Bytes = api.BytesPending
	}
	out.Remembered, err = b.Library.Remembered(in.Space)
	return out, err
}

// cleanUp removes the bytes of deleted data from disk, and says whether it succeeded.
func (b *Backend) cleanUp(ctx context.Context) bool {
	err := b.Library.CleanUp(ctx, nil)
	if err != nil {
		b.Logger.Warn("cannot remove the bytes of deleted data from disk; will retry", "kind", fault.KindOf(err), "error", err)
	}
	return err == nil
}

// finishDeletion cleans up if that was requested, publishes the deletion and returns its
// receipt. If the cleanup fails, or a waiting upload holds some of the data, the receipt
// says so, and idle work retries.
func (b *Backend) finishDeletion(ctx context.Context, o api.DeleteRequest, r ingest.Receipt) api.Receipt {
	if o.CleanUp {
		r.CleanedUp = b.cleanUp(ctx) && !b.Inbox.Withholds(o.Space, o.Document)
	}
	out := wireReceipt(r)
	b.recorder.Metrics.Forgotten(out.Documents)
	b.publish(api.EventForgotten, o.Space, map[string]any{
		"documents": out.Documents, "chunks": out.Chunks, "slices": out.Slices, "slice_bytes": out.SliceBytes, "entries": out.Entries,
		"history": out.History, "summaries": out.Summaries, "predictions": out.Predictions, "turns": out.Turns, "cleaned_up": out.CleanedUp,
	})
	return out
}
