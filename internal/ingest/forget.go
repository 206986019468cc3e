package ingest

import (
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
)

// Receipt counts what was forgotten.
type Receipt struct {
	Documents int   `json:"documents"`
	Chunks    int   `json:"chunks"`
	Vectors   int   `json:"vectors"`
	Indexed   int   `json:"indexed"` // chunks in the index of words
	Slices    int   `json:"slices"`
	Bytes     int64 `json:"slice_bytes"`
	Entries   int   `json:"entries"`
	History   int   `json:"history"`
	// CleanedUp says that no file of the data folder holds any of it any more.
	CleanedUp bool `json:"cleaned_up"`
}

// Plus adds up two receipts.
func (r Receipt) Plus(o Receipt) Receipt {
	return Receipt{
		Documents: r.Documents + o.Documents, Chunks: r.Chunks + o.Chunks, Vectors: r.Vectors + o.Vectors,
		Indexed: r.Indexed + o.Indexed, Slices: r.Slices + o.Slices, Bytes: r.Bytes + o.Bytes,
		Entries: r.Entries + o.Entries, History: r.History + o.History,
	}
}

// Delete makes a document forgotten. When it returns without an error, nothing
// of the document is shown, searched or served any more; its bytes leave the
// disk with CleanUp.
func (l *Library) Delete(ctx context.Context, space string, id percached.DocumentID) (Receipt, error) {
	const op = "ingest.Delete"
	l.changing.Lock()
	defer l.changing.Unlock()
	d, err := l.Knowledge.Document(space, id)
	if err != nil && fault.KindOf(err) != fault.Internal { // what is damaged can be forgotten, too
		return Receipt{}, fault.Wrap(op, err)
	}
	p := &pending{Space: space, Document: id, Chunks: d.Chunks}
	if err := l.note(p); err != nil {
		return Receipt{}, fault.Wrap(op, err)
	}
	change, err := l.Knowledge.Delete(ctx, space, id)
	if err != nil {
		return Receipt{}, fault.Wrap(op, err)
	}
	p.Chunks, p.Gone = change.Gone, true
	if err := l.note(p); err != nil {
		return Receipt{}, fault.Wrap(op, err)
	}
	r, err := l.forget(ctx, p)
	r.Documents = 1
	return r, fault.Wrap(op, err)
}

// DeleteSpace makes a space and everything in it forgotten.
func (l *Library) DeleteSpace(ctx context.Context, space string) (Receipt, error) {
	const op = "ingest.DeleteSpace"
	l.changing.Lock()
	defer l.changing.Unlock()
	if _, err := l.Knowledge.Space(space); err != nil {
		return Receipt{}, fault.Wrap(op, err)
	}
	p := &pending{Space: space, Whole: true}
	if err := l.note(p); err != nil {
		return Receipt{}, fault.Wrap(op, err)
	}
	documents, chunks, err := l.Knowledge.DeleteSpace(space)
	if err != nil {
		return Receipt{}, fault.Wrap(op, err)
	}
	p.Gone = true
	if err := l.note(p); err != nil {
		return Receipt{}, fault.Wrap(op, err)
	}
	r, err := l.forgetSpace(ctx, space)
	r.Documents, r.Chunks = documents, chunks
	return r, fault.Wrap(op, err)
}

// forget takes what rests on the chunks of a document that are gone out of
// every layer but the knowledge bank.
func (l *Library) forget(ctx context.Context, p *pending) (Receipt, error) {
	gone, err := l.gone(p.Space, p.Chunks)
	if err != nil {
		return Receipt{}, err
	}
	r := Receipt{Chunks: len(gone)}
	before, err := l.Index.Stats(p.Space)
	if err != nil {
		return r, err
	}
	if err := l.Index.Update(ctx, p.Space); err != nil {
		return r, err
	}
	after, err := l.Index.Stats(p.Space)
	if err != nil {
		return r, err
	}
	r.Vectors, r.Indexed = before.Vectors-after.Vectors, before.Chunks-after.Chunks
	if len(gone) == 0 {
		return r, nil
	}
	if r.Slices, r.Bytes, err = l.Tree.Forget(p.Space, gone); err != nil {
		return r, err
	}
	if r.Entries, err = l.Bank.Forget(ctx, p.Space, gone); err != nil {
		return r, err
	}
	r.History, err = l.History.Forget(p.Space, gone)
	return r, err
}

func (l *Library) forgetSpace(ctx context.Context, space string) (r Receipt, err error) {
	if s, err := l.Index.Stats(space); err == nil { // it may be gone already
		r.Vectors, r.Indexed = s.Vectors, s.Chunks
	}
	if err := l.Index.Drop(space); err != nil {
		return r, err
	}
	if r.Slices, r.Bytes, err = l.Tree.Clear(space); err != nil {
		return r, err
	}
	if r.Entries, err = l.Bank.DropSpace(ctx, space); err != nil {
		return r, err
	}
	r.History, err = l.History.DropSpace(space)
	return r, err
}

// outdate follows the replacing of a document: what was answered from its former
// chunks is stale, and their tensors are of no use.
func (l *Library) outdate(ctx context.Context, space string, gone []percached.ChunkID) error {
	if _, err := l.Bank.Outdate(ctx, space, gone); err != nil {
		return err
	}
	_, _, err := l.Tree.Forget(space, gone)
	return err
}

// gone are those of these chunks that the knowledge bank no longer holds.
func (l *Library) gone(space string, ids []percached.ChunkID) ([]percached.ChunkID, error) {
	alive, err := l.Knowledge.Versions(space, ids)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id percached.ChunkID) bool {
		_, ok := alive[id]
		return ok
	}), nil
}

// CleanUp takes the bytes of what was forgotten off the disk. It reads and
// writes all that is stored: idle work for a daemon.
func (l *Library) CleanUp(ctx context.Context, progress func(done, total int64)) error {
	const op = "ingest.CleanUp"
	l.changing.Lock()
	defer l.changing.Unlock()
	notes, err := l.noted()
	if err != nil || len(notes) == 0 {
		return fault.Wrap(op, err)
	}
	rebuilt := map[string]bool{}
	for _, p := range notes {
		if !p.Whole && !rebuilt[p.Space] {
			if err := l.Index.Rebuild(ctx, p.Space, nil); err != nil {
				return fault.Wrap(op, err)
			}
			rebuilt[p.Space] = true
		}
	}
	if err := l.Tensors.Rewrite(ctx, progress); err != nil {
		return fault.Wrap(op, err)
	}
	if err := l.Meta.Rewrite(ctx, progress); err != nil {
		return fault.Wrap(op, err)
	}
	return fault.Wrap(op, l.strike(notes))
}
