package knowledgebank

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// draftBytes is how much is committed at once when several documents are added.
const draftBytes = 1 << 20

// Add stores a document and replaces the one under its key. It stores all of it or
// nothing, and durably when it returns without an error. Adding the same document again
// does nothing.
func (b *Bank) Add(ctx context.Context, space string, s *Source) (Change, error) {
	changes, err := b.add(ctx, "knowledgebank.Add", space, []*Source{s})
	if len(changes) == 0 {
		return Change{}, err
	}
	return changes[0], err
}

// AddAll adds each source in turn, many in one transaction, which is much faster than
// Add. If it returns an error, the changes are those of the sources stored before,
// sources[len(changes)] caused the error, and those behind it were not tried. A
// document whose commit failed is stored whole or not at all; adding it again does no
// harm.
func (b *Bank) AddAll(ctx context.Context, space string, sources []*Source) ([]Change, error) {
	return b.add(ctx, "knowledgebank.AddAll", space, sources)
}

func (b *Bank) add(ctx context.Context, op, space string, sources []*Source) ([]Change, error) {
	if _, _, err := b.find(op, space); err != nil {
		return nil, err
	}
	var items []*item
	var bad error
	for _, s := range sources {
		if bad = ctx.Err(); bad != nil {
			break
		}
		var it *item
		if it, bad = b.prepare(ctx, s); bad != nil {
			break
		}
		items = append(items, it)
	}
	return b.store(ctx, op, space, items, bad)
}

// store stores prepared documents; bad is why the one after them could not be prepared.
func (b *Bank) store(ctx context.Context, op, space string, items []*item, bad error) ([]Change, error) {
	sp, _, err := b.lock(op, space)
	if err != nil {
		return nil, err
	}
	defer sp.writing.Unlock()
	var changes []Change
	for end := len(items); len(changes) < len(items); {
		some, err := b.addSome(ctx, sp, items[len(changes):end])
		changes = append(changes, some...)
		var stop *stopError
		switch {
		case errors.As(err, &stop) && stop.at > 0 && ctx.Err() == nil:
			end = len(changes) + stop.at // store those before it first
		case err != nil:
			return changes, fault.Wrap(op, err)
		default:
			end = len(items)
		}
	}
	return changes, fault.Wrap(op, bad)
}

// stopError says which of the documents cannot be stored.
type stopError struct {
	at  int
	err error
}

func (e *stopError) Error() string { return e.err.Error() }

func (e *stopError) Unwrap() error { return e.err }

// addSome stores the first of items, as many as fit well into one transaction. The
// caller holds the space for writing.
func (b *Bank) addSome(ctx context.Context, sp *space, items []*item) ([]Change, error) {
	var changes []Change
	var writes []write
	err := b.db.View(func(tx *kv.Tx) error {
		d := newDraft(sp.id, tx, sp.record.Load())
		for i, it := range items {
			if i > 0 && d.bytes+it.bytes > draftBytes {
				break
			}
			err := ctx.Err()
			if err == nil {
				var c Change
				c, err = d.put(ctx, it.document, it.chunks)
				changes = append(changes, c)
			}
			if err != nil {
				return &stopError{i, fault.New(fault.KindOf(err), "knowledgebank.put", "document %s: %w", sp.publicDocument(it.document.ID), err)}
			}
		}
		if len(d.writes) > 0 {
			writes = d.all()
		}
		return nil
	})
	if err == nil && len(writes) > 0 {
		err = b.commit(ctx, sp, writes)
	}
	if err != nil {
		return nil, err
	}
	return changes, nil
}

// Delete removes a document and the chunks that no other document holds. None of its
// text stays under any key.
func (b *Bank) Delete(ctx context.Context, space string, id percached.DocumentID) (Change, error) {
	const op = "knowledgebank.Delete"
	sp, r, err := b.lock(op, space)
	if err != nil {
		return Change{}, err
	}
	defer sp.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return Change{}, fault.Wrap(op, err)
	}
	var c Change
	var writes []write
	err = b.db.View(func(tx *kv.Tx) (err error) {
		d := newDraft(sp.id, tx, r)
		c, err = d.drop(id)
		writes = d.all()
		return err
	})
	if err == nil {
		err = b.commit(context.WithoutCancel(ctx), sp, writes)
	}
	if err != nil {
		return Change{}, fault.New(fault.KindOf(err), op, "document %s: %w", sp.publicDocument(id), err)
	}
	return c, nil
}

// State is what happened to a document.
type State string

// The states.
const (
	Added     State = "added"
	Unchanged State = "unchanged" // it was there already
	Replaced  State = "replaced"  // by another text under the same key
	Deleted   State = "deleted"
)

// Change is what adding or deleting a document changed in its space.
type Change struct {
	Document percached.DocumentID
	State    State
	New      []percached.ChunkID // that did not exist before, in the document's order
	Gone     []percached.ChunkID // that no document holds any more
	Seq      uint64              // the space's count of changes after it
}

// put adds a document to the draft.
func (d *draft) put(ctx context.Context, doc percached.Document, chunks []percached.Chunk) (Change, error) {
	was, old, err := d.stored(doc.ID)
	if err != nil {
		return Change{}, err
	}
	c := Change{Document: doc.ID, State: Added}
	if was != nil {
		c.State = Replaced
		if !was.Added.IsZero() {
			doc.Added = was.Added
		}
		same, err := d.same(&was.Document, &doc)
		if err != nil {
			return Change{}, err
		}
		if same {
			c.State, c.Seq = Unchanged, d.space.Seq
			if !bytes.Equal(encodeDocument(&was.Document), encodeDocument(&doc)) {
				d.setDocument(&doc) // its path has changed
			}
			return c, nil
		}
		d.dropPages(doc.ID, was.Count)
		d.space.Words -= int64(was.Words)
	} else {
		d.space.Documents++
	}
	d.space.Seq++
	d.space.Words += int64(doc.Words)
	c.Seq = d.space.Seq
	has := make(map[percached.ChunkID]bool, len(chunks))
	for i := range chunks {
		if ended(ctx, i) {
			return Change{}, ctx.Err()
		}
		if has[chunks[i].ID] {
			continue
		}
		has[chunks[i].ID] = true
		fresh, err := d.hold(chunks[i], doc.ID)
		if err != nil {
			return Change{}, err
		}
		if fresh {
			c.New = append(c.New, chunks[i].ID)
		}
	}
	for _, id := range old {
		if !has[id] {
			if err := d.release(id, doc.ID, &c); err != nil {
				return Change{}, err
			}
		}
	}
	d.setDocument(&doc)
	return c, d.fixSums()
}

// fixSums corrects the space's sums after damage.
func (d *draft) fixSums() error {
	if !d.sumsWrong {
		return nil
	}
	return d.recount()
}

// stored returns the stored record of a document, and its chunks, each once. If the record
// is damaged, it finds the chunks that name the document.
func (d *draft) stored(id percached.DocumentID) (was *documentRecord, chunks []percached.ChunkID, err error) {
	was, err = d.document(id)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return nil, nil, nil
	case damaged(err):
		was = &documentRecord{Count: maxChunks}
		chunks, err = d.held(id)
		return was, chunks, err
	case err != nil:
		return nil, nil, err
	}
	has := make(map[percached.ChunkID]bool, len(was.Chunks))
	for _, c := range was.Chunks {
		if !has[c] {
			has[c] = true
			chunks = append(chunks, c)
		}
	}
	return was, chunks, nil
}

// same reports whether a document is unchanged and its chunks can be read.
func (d *draft) same(was, now *percached.Document) (bool, error) {
	if was.Title != now.Title || was.Source != now.Source || !bytes.Equal(appendTime(nil, was.Date), appendTime(nil, now.Date)) ||
		!slices.Equal(was.Chunks, now.Chunks) {
		return false, nil
	}
	for _, id := range now.Chunks {
		c, err := d.chunk(id)
		if err != nil && !damaged(err) && fault.KindOf(err) != fault.NotFound {
			return false, err
		}
		if err != nil || !slices.Contains(c.Documents, now.ID) {
			return false, nil
		}
	}
	return true, nil
}

// hold adds a document to the holders of a chunk. fresh reports whether the chunk is
// new.
func (d *draft) hold(c percached.Chunk, doc percached.DocumentID) (fresh bool, err error) {
	was, err := d.chunk(c.ID)
	switch {
	case err == nil:
		if slices.Contains(was.Documents, doc) {
			return false, nil
		}
		was.Documents = append(was.Documents, doc)
		d.setChunk(was)
		return false, nil
	case damaged(err):
		if c.Documents, err = d.holders(c.ID); err == nil {
			err = d.unlistChunk(c.ID)
		}
		if err != nil {
			return false, err
		}
		c.Documents = slices.DeleteFunc(c.Documents, func(id percached.DocumentID) bool { return id == doc })
	case fault.KindOf(err) == fault.NotFound:
		d.space.Chunks++
	default:
		return false, err
	}
	c.Version = d.space.Seq
	c.Documents = append(c.Documents, doc)
	d.setChunk(&c)
	d.set(d.id.change(liveType, c.Version, c.ID), nil)
	return true, nil
}

// release removes a document from the holders of a chunk, and the chunk if nobody else
// holds it.
func (d *draft) release(id percached.ChunkID, doc percached.DocumentID, change *Change) error {
	c, err := d.chunk(id)
	var holders []percached.DocumentID
	switch {
	case err == nil:
		holders = c.Documents
	case damaged(err):
		if holders, err = d.holders(id); err != nil {
			return err
		}
	case fault.KindOf(err) == fault.NotFound:
		return nil
	default:
		return err
	}
	holders = slices.DeleteFunc(holders, func(h percached.DocumentID) bool { return h == doc })
	if len(holders) > 0 {
		if c != nil {
			c.Documents = holders
			d.setChunk(c)
		} // a damaged one waits until one of its documents is added again
		return nil
	}
	d.delete(d.id.chunk(id))
	if c != nil {
		d.delete(d.id.change(liveType, c.Version, id))
	} else if err := d.unlistChunk(id); err != nil {
		return err
	}
	d.set(d.id.change(goneType, d.space.Seq, id), nil)
	d.space.Chunks--
	change.Gone = append(change.Gone, id)
	return nil
}

// drop removes a document.
func (d *draft) drop(id percached.DocumentID) (Change, error) {
	was, old, err := d.stored(id)
	if err != nil {
		return Change{}, err
	}
	if was == nil {
		return Change{}, fault.New(fault.NotFound, "knowledgebank.drop", "there is no such document")
	}
	d.space.Seq++
	d.space.Documents--
	d.space.Words -= int64(was.Words)
	c := Change{Document: id, State: Deleted, Seq: d.space.Seq}
	for _, chunk := range old {
		if err := d.release(chunk, id, &c); err != nil {
			return Change{}, err
		}
	}
	d.delete(d.id.document(id))
	d.dropPages(id, was.Count)
	return c, d.fixSums()
}
