package ingest

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
)

// Receipt counts what was forgotten.
type Receipt struct {
	Documents int   `json:"documents"`
	Chunks    int   `json:"chunks"`
	Vectors   int   `json:"vectors"`
	Indexed   int   `json:"indexed"` // chunks in the word index
	Slices    int   `json:"slices"`
	Bytes     int64 `json:"slice_bytes"`
	Entries   int   `json:"entries"`
	History   int   `json:"history"`
	Summaries int   `json:"summaries"`   // of its chunks
	Predicted int   `json:"predictions"` // made from it
	Turns     int   `json:"turns"`       // of conversations
	// CleanedUp means that no file of the data folder contains any of it.
	CleanedUp bool `json:"cleaned_up"`
}

// Plus adds two receipts.
func (r Receipt) Plus(o Receipt) Receipt {
	return Receipt{
		Documents: r.Documents + o.Documents, Chunks: r.Chunks + o.Chunks, Vectors: r.Vectors + o.Vectors,
		Indexed: r.Indexed + o.Indexed, Slices: r.Slices + o.Slices, Bytes: r.Bytes + o.Bytes,
		Entries: r.Entries + o.Entries, History: r.History + o.History,
		Summaries: r.Summaries + o.Summaries, Predicted: r.Predicted + o.Predicted, Turns: r.Turns + o.Turns,
	}
}

// Delete forgets a document. When it returns without an error, nothing of the document is
// shown, searched or served any more; CleanUp removes its bytes from disk. With an error
// either nothing happened, or CleanUp or Recover will complete it.
func (l *Library) Delete(ctx context.Context, space string, id percached.DocumentID) (Receipt, error) {
	r, err := l.deleteDocument(ctx, space, id, false)
	return r, fault.Wrap("ingest.Delete", err)
}

// DeleteForGood is Delete, and remembers the document: Add leaves it out until it is added
// again on purpose or its text has changed.
func (l *Library) DeleteForGood(ctx context.Context, space string, id percached.DocumentID) (Receipt, error) {
	r, err := l.deleteDocument(ctx, space, id, true)
	return r, fault.Wrap("ingest.DeleteForGood", err)
}

func (l *Library) deleteDocument(ctx context.Context, space string, id percached.DocumentID, remember bool) (Receipt, error) {
	done, err := l.turns.space(ctx, space)
	if err != nil {
		return Receipt{}, err
	}
	defer done()
	d, err := l.Knowledge.Document(space, id)
	if err != nil && fault.KindOf(err) != fault.Internal { // damaged documents can be forgotten too
		return Receipt{}, err
	}
	d.ID = id
	p := &pending{Space: space, Document: id, Chunks: d.Chunks}
	if err := l.noteDeletion(p, d, remember); err != nil {
		return Receipt{}, err
	}
	defer l.signalDeletion()
	r, err := l.deleteNoted(ctx, p)
	// Not in forget, because CleanUp calls that and is a job itself. Also after an error:
	// the next scan finds the remaining work.
	if late := l.Jobs.Forget(space); err == nil {
		err = late
	}
	return r, err
}

// noteDeletion writes the note of a document, and the memory of it if that is wanted. If
// the deletion fails after that, the document exists, and its memory has no effect.
func (l *Library) noteDeletion(p *pending, d percached.Document, remember bool) error {
	if !remember {
		return l.note(p)
	}
	memory, err := l.remember(p.Space, d)
	if err != nil {
		return err
	}
	return l.note(p, func(tx *kv.Tx) error { return tx.Set(l.rememberedKey(p.Space, p.Document), memory) })
}

// deleteNoted forgets the document of a note.
func (l *Library) deleteNoted(ctx context.Context, p *pending) (Receipt, error) {
	change, err := l.Knowledge.Delete(ctx, p.Space, p.Document)
	if err != nil {
		if _, look := l.Knowledge.Document(p.Space, p.Document); fault.KindOf(look) != fault.NotFound {
			err = l.keepFailed(p, err)
		}
		return Receipt{}, err
	}
	p.Chunks, p.Gone = change.Gone, true
	if err := l.note(p); err != nil {
		return Receipt{}, err
	}
	// The caller may cancel: the document is deleted, and its traces must go too.
	r, err := l.forget(context.WithoutCancel(ctx), p)
	r.Documents = 1
	return r, err
}

// DeleteSpace forgets a space and everything in it, like Delete. It ends each Add in
// progress there.
func (l *Library) DeleteSpace(ctx context.Context, space string) (Receipt, error) {
	const op = "ingest.DeleteSpace"
	defer l.turns.endAdds(space)()
	done, err := l.turns.space(ctx, space)
	if err != nil {
		return Receipt{}, fault.Wrap(op, err)
	}
	defer done()
	if _, err := l.Knowledge.Space(space); err != nil {
		return Receipt{}, fault.Wrap(op, err)
	}
	p := &pending{Space: space, Whole: true}
	if err := l.note(p); err != nil {
		return Receipt{}, fault.Wrap(op, err)
	}
	defer l.signalDeletion()
	r, err := l.deleteNotedSpace(ctx, p)
	if others, listed := l.Knowledge.Spaces(); listed == nil {
		for _, s := range others { // its own jobs, which clean up, are deleted with it
			l.Jobs.Changed(s.Name)
		}
	}
	return r, fault.Wrap(op, err)
}

// deleteNotedSpace forgets the space of a note.
func (l *Library) deleteNotedSpace(ctx context.Context, p *pending) (Receipt, error) {
	documents, chunks, err := l.Knowledge.DeleteSpace(p.Space)
	if err != nil {
		if _, look := l.Knowledge.Space(p.Space); fault.KindOf(look) != fault.NotFound {
			err = l.keepFailed(p, err)
		}
		return Receipt{}, err
	}
	p.Gone = true
	if err := l.note(p); err != nil {
		return Receipt{}, err
	}
	// The caller may cancel: nothing of a deleted space may appear in a new one of the
	// same name.
	r, err := l.forgetSpace(context.WithoutCancel(ctx), p.Space)
	r.Documents, r.Chunks = documents, chunks
	if err == nil {
		l.setBehind(p.Space, false)
	}
	return r, err
}

// FinishDeletion completes the deletion of a space before a new one of the same name is
// created, so that nothing of the old one appears there.
func (l *Library) FinishDeletion(ctx context.Context, space string) error {
	const op = "ingest.FinishDeletion"
	if l.isImporting(space) {
		return fault.New(fault.Conflict, op, "the space %q is being imported; wait until that has ended", space)
	}
	id := kv.NewSpaceID(space)
	if left, err := l.has(spaceKey("Fi", id)); err != nil || left { // an import that could not be undone
		if err == nil {
			err = dropImport(l.Meta, id)
		}
		if err != nil {
			return fault.Wrap(op, err)
		}
	}
	p := &pending{Space: space, Whole: true, Gone: true}
	if noted, err := l.has(p.key()); err != nil || !noted {
		return fault.Wrap(op, err)
	}
	done, err := l.turns.space(ctx, space)
	if err != nil {
		return fault.Wrap(op, err)
	}
	defer done()
	if _, err := l.Knowledge.Space(space); fault.KindOf(err) != fault.NotFound {
		return nil // it exists, intact or not
	}
	if err := l.note(p); err != nil { // otherwise the new one could be deleted by the old one's note
		return fault.Wrap(op, err)
	}
	_, err = l.forgetSpace(ctx, space)
	return fault.Wrap(op, err)
}

// keepFailed records that what the knowledge bank failed to delete stays. Otherwise it
// would be deleted later, whatever has this name by then.
func (l *Library) keepFailed(p *pending, cause error) error {
	p.Gone = true
	if err := l.note(p); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

// forget deletes what depends on a document's deleted chunks in every layer except the
// knowledge bank, and what depends on any other deleted chunk, which may be from an
// earlier version of the document.
func (l *Library) forget(ctx context.Context, p *pending) (r Receipt, err error) {
	l.Asker.Settle()
	own, err := l.deletedChunks(p.Space, p.Chunks)
	if err != nil {
		return r, err
	}
	gone, err := l.orphans(p.Space, true)
	if err != nil {
		return r, err
	}
	r.Chunks = len(own)
	if gone = append(gone, own...); len(gone) > 0 {
		if r.Slices, r.Bytes, err = l.Tree.Forget(p.Space, gone); err != nil {
			return r, err
		}
		if r.Entries, err = l.Bank.Forget(ctx, p.Space, gone); err != nil {
			return r, err
		}
		if r.History, err = l.History.Forget(p.Space, gone); err != nil {
			return r, err
		}
		if r.Summaries, r.Predicted, err = l.Predictor.Forget(p.Space, gone); err != nil {
			return r, err
		}
		if r.Turns, err = l.Conversations.Forget(p.Space, gone); err != nil {
			return r, err
		}
	}
	before, err := l.Index.Stats(p.Space) // last, because only this needs disk space
	if err != nil {
		return r, err
	}
	if err := l.Index.Update(ctx, p.Space); err != nil {
		return r, err
	}
	after, err := l.Index.Stats(p.Space)
	r.Vectors, r.Indexed = before.Vectors-after.Vectors, before.Chunks-after.Chunks
	return r, err
}

func (l *Library) forgetSpace(ctx context.Context, space string) (r Receipt, err error) {
	l.Asker.Settle()
	if s, err := l.Index.Stats(space); err == nil { // it may be deleted already
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
	if r.History, err = l.History.DropSpace(space); err != nil {
		return r, err
	}
	if r.Summaries, r.Predicted, err = l.Predictor.DropSpace(space); err != nil {
		return r, err
	}
	if r.Turns, err = l.Conversations.DropSpace(space); err != nil {
		return r, err
	}
	if l.Facts != nil {
		if err := l.Facts.DropSpace(space); err != nil {
			return r, err
		}
	}
	if err := l.forgetRemembered(space); err != nil {
		return r, err
	}
	return r, l.Jobs.DropSpace(space)
}

// updateLayers updates the other layers after an Add: answers from replaced chunks become
// stale, and their tensors are deleted.
func (l *Library) updateLayers(ctx context.Context, space string, gone []percached.ChunkID) error {
	var err error
	if len(gone) > 0 {
		l.Asker.Settle()
		// The documents are stored: the caller may cancel.
		err = l.outdate(context.WithoutCancel(ctx), space, gone)
	}
	if late := l.Index.Update(ctx, space); err == nil {
		err = late
	}
	l.Jobs.Changed(space)
	return err
}

func (l *Library) outdate(ctx context.Context, space string, gone []percached.ChunkID) error {
	if _, err := l.Bank.Outdate(ctx, space, gone); err != nil {
		return err
	}
	if _, _, err := l.Tree.Forget(space, gone); err != nil {
		return err
	}
	_, _, err := l.Predictor.Forget(space, gone)
	return err
}

// deletedChunks lists which of these chunks the knowledge bank no longer has.
func (l *Library) deletedChunks(space string, ids []percached.ChunkID) ([]percached.ChunkID, error) {
	alive, err := l.Knowledge.Versions(space, ids)
	// A damaged chunk counts as deleted: nothing based on it is served.
	if err != nil && !errors.Is(err, knowledgebank.ErrDamaged) && !errors.Is(err, kv.ErrDamaged) {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id percached.ChunkID) bool {
		_, ok := alive[id]
		return ok
	}), nil
}

// orphans lists the deleted chunks that tensors, stored answers or questions of the
// history still cite.
func (l *Library) orphans(space string, asked bool) ([]percached.ChunkID, error) {
	named := map[percached.ChunkID]bool{}
	l.Tree.Nodes(space, func(n qkvtree.Info) { named[n.Chunk] = true })
	// From memory, because unreadable answers must be deleted with their chunks too.
	if err := l.Bank.Scan(space, func(i qabank.Info) error {
		for _, c := range i.Chunks {
			named[c] = true
		}
		return nil
	}); err != nil {
		return nil, err
	}
	made, err := l.Predictor.Cited(space)
	if err != nil {
		return nil, err
	}
	for _, id := range made {
		named[id] = true
	}
	if asked {
		for _, of := range []history{l.History, l.Conversations} {
			cited, err := of.Cited(space)
			if err != nil {
				return nil, err
			}
			for _, id := range cited {
				named[id] = true
			}
		}
	}
	delete(named, percached.ChunkID{}) // the instructions are not a chunk
	return l.deletedChunks(space, slices.Collect(maps.Keys(named)))
}
