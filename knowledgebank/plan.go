package knowledgebank

import (
	"bytes"
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// State is what became of a document.
type State string

// The states.
const (
	Added     State = "added"
	Unchanged State = "unchanged" // it was there already
	Replaced  State = "replaced"  // by another text under the same key
	Deleted   State = "deleted"
)

// Change is what a document's coming or going did to its space.
type Change struct {
	Document percached.DocumentID
	State    State
	New      []percached.ChunkID // that were not live before, in the document's order
	Gone     []percached.ChunkID // that no document holds any more
	Seq      uint64              // the space's count of changes after it
}

// put works a document in.
func (d *draft) put(ctx context.Context, doc percached.Document, chunks []percached.Chunk) (Change, error) {
	was, old, err := d.old(doc.ID)
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
				d.setDocument(&doc) // it lies elsewhere now
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
	return c, d.mend()
}

// mend makes the space's sums right again after damage.
func (d *draft) mend() error {
	if !d.hurt {
		return nil
	}
	return d.recount()
}

// old gives the record of a document as it is and its chunks, each once. Of a
// damaged record the chunks are found by who names it.
func (d *draft) old(id percached.DocumentID) (was *documentRecord, chunks []percached.ChunkID, err error) {
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

// same says that a document is as it was, and its chunks can be read.
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

// hold makes a document one of those that hold a chunk, and says whether the
// chunk came in by that.
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
			err = d.unlist(c.ID)
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

// release takes a document off those that hold a chunk; held by none, the
// chunk goes.
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
	} else if err := d.unlist(id); err != nil {
		return err
	}
	d.set(d.id.change(goneType, d.space.Seq, id), nil)
	d.space.Chunks--
	change.Gone = append(change.Gone, id)
	return nil
}

// drop takes a document out.
func (d *draft) drop(id percached.DocumentID) (Change, error) {
	was, old, err := d.old(id)
	if err != nil {
		return Change{}, err
	}
	if was == nil {
		return Change{}, fault.New(fault.NotFound, "knowledgebank.drop", "there is none")
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
	return c, d.mend()
}
