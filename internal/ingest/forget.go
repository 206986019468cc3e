package ingest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

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
	Indexed   int   `json:"indexed"` // chunks in the index of words
	Slices    int   `json:"slices"`
	Bytes     int64 `json:"slice_bytes"`
	Entries   int   `json:"entries"`
	History   int   `json:"history"`
	Summaries int   `json:"summaries"`   // of its chunks
	Predicted int   `json:"predictions"` // made from it
	// CleanedUp says that no file of the data folder holds any of it any more.
	CleanedUp bool `json:"cleaned_up"`
}

// Plus adds up two receipts.
func (r Receipt) Plus(o Receipt) Receipt {
	return Receipt{
		Documents: r.Documents + o.Documents, Chunks: r.Chunks + o.Chunks, Vectors: r.Vectors + o.Vectors,
		Indexed: r.Indexed + o.Indexed, Slices: r.Slices + o.Slices, Bytes: r.Bytes + o.Bytes,
		Entries: r.Entries + o.Entries, History: r.History + o.History,
		Summaries: r.Summaries + o.Summaries, Predicted: r.Predicted + o.Predicted,
	}
}

// Delete makes a document forgotten. When it returns without an error, nothing
// of the document is shown, searched or served any more; its bytes leave the
// disk with CleanUp. With an error either nothing has happened, or what is left
// to do is done by CleanUp or Recover.
func (l *Library) Delete(ctx context.Context, space string, id percached.DocumentID) (Receipt, error) {
	const op = "ingest.Delete"
	done, err := l.turns.change(ctx, space)
	if err != nil {
		return Receipt{}, fault.Wrap(op, err)
	}
	defer done()
	d, err := l.Knowledge.Document(space, id)
	if err != nil && fault.KindOf(err) != fault.Internal { // what is damaged can be forgotten, too
		return Receipt{}, fault.Wrap(op, err)
	}
	p := &pending{Space: space, Document: id, Chunks: d.Chunks}
	if err := l.note(p); err != nil {
		return Receipt{}, fault.Wrap(op, err)
	}
	r, err := l.deleteNoted(ctx, p)
	// Not in forget: CleanUp, which calls that too, is a job itself. With an error,
	// too: what is left to do is found by this.
	if late := l.Jobs.Forget(space); err == nil {
		err = late
	}
	return r, fault.Wrap(op, err)
}

// deleteNoted makes the document of a note forgotten.
func (l *Library) deleteNoted(ctx context.Context, p *pending) (Receipt, error) {
	change, err := l.Knowledge.Delete(ctx, p.Space, p.Document)
	if err != nil {
		if _, look := l.Knowledge.Document(p.Space, p.Document); fault.KindOf(look) != fault.NotFound {
			err = l.spare(p, err)
		}
		return Receipt{}, err
	}
	p.Chunks, p.Gone = change.Gone, true
	if err := l.note(p); err != nil {
		return Receipt{}, err
	}
	// Who waits for it may go: the document has gone, and nothing of it stays.
	r, err := l.forget(context.WithoutCancel(ctx), p)
	r.Documents = 1
	return r, err
}

// DeleteSpace makes a space and everything in it forgotten, as Delete does it with
// a document. What is being added to it ends.
func (l *Library) DeleteSpace(ctx context.Context, space string) (Receipt, error) {
	const op = "ingest.DeleteSpace"
	defer l.turns.end(space)()
	r, noted, err := l.deleteSpace(ctx, space)
	if noted {
		r.CleanedUp = l.handOver(ctx)
	}
	return r, fault.Wrap(op, err)
}

// deleteSpace says whether it noted that the space is to go.
func (l *Library) deleteSpace(ctx context.Context, space string) (r Receipt, noted bool, err error) {
	done, err := l.turns.change(ctx, space)
	if err != nil {
		return r, false, err
	}
	defer done()
	if _, err := l.Knowledge.Space(space); err != nil {
		return r, false, err
	}
	p := &pending{Space: space, Whole: true}
	if err := l.note(p); err != nil {
		return r, false, err
	}
	r, err = l.deleteNotedSpace(ctx, p)
	return r, true, err
}

// deleteNotedSpace makes the space of a note forgotten.
func (l *Library) deleteNotedSpace(ctx context.Context, p *pending) (Receipt, error) {
	documents, chunks, err := l.Knowledge.DeleteSpace(p.Space)
	if err != nil {
		if _, look := l.Knowledge.Space(p.Space); fault.KindOf(look) != fault.NotFound {
			err = l.spare(p, err)
		}
		return Receipt{}, err
	}
	p.Gone = true
	if err := l.note(p); err != nil {
		return Receipt{}, err
	}
	// Who waits for it may go: of a space that has gone nothing must show in one
	// that is made anew under its name.
	r, err := l.forgetSpace(context.WithoutCancel(ctx), p.Space)
	r.Documents, r.Chunks = documents, chunks
	if err == nil {
		l.setBehind(p.Space, false)
	}
	return r, err
}

// lastCleanUp bounds how long who deletes the last space waits for its bytes to go.
const lastCleanUp = 20 * time.Second

// handOver leaves the bytes of a space that went to idle work in the others: its
// own jobs went with it. If there is no other, nobody would look for them: they go
// at once, as there is little left to copy. It says whether they are gone.
func (l *Library) handOver(ctx context.Context) bool {
	spaces, err := l.Knowledge.Spaces()
	for _, s := range spaces {
		l.Jobs.Changed(s.Name)
	}
	if err != nil || len(spaces) > 0 {
		return false // where the list cannot be read, the scheduler finds that out for itself
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastCleanUp)
	defer cancel()
	if err := l.CleanUp(ctx, nil); err != nil {
		l.Logger.Warn("what was forgotten is still on the disk", "kind", fault.KindOf(err), "error", err)
		return false
	}
	return true
}

// Vacate ends what is left of forgetting a space, before one is made anew under its
// name: nothing of the former one shows there.
func (l *Library) Vacate(ctx context.Context, space string) error {
	const op = "ingest.Vacate"
	p := &pending{Space: space, Whole: true, Gone: true}
	if noted, err := l.has(p.key()); err != nil || !noted {
		return fault.Wrap(op, err)
	}
	done, err := l.turns.change(ctx, space)
	if err != nil {
		return fault.Wrap(op, err)
	}
	defer done()
	if _, err := l.Knowledge.Space(space); fault.KindOf(err) != fault.NotFound {
		return nil // it is there, sound or not
	}
	if err := l.note(p); err != nil { // or the new one might go by the former one's note
		return fault.Wrap(op, err)
	}
	_, err = l.forgetSpace(ctx, space)
	return fault.Wrap(op, err)
}

// spare notes that what the knowledge bank could not let go of stays: or it would
// go later, whatever it is by then.
func (l *Library) spare(p *pending, cause error) error {
	p.Gone = true
	if err := l.note(p); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

// forget takes what rests on the chunks of a document that are gone out of
// every layer but the knowledge bank; and what rests on any other chunk that is
// gone, as that may be from an earlier edition of the document.
func (l *Library) forget(ctx context.Context, p *pending) (r Receipt, err error) {
	l.Asker.Settle()
	own, err := l.gone(p.Space, p.Chunks)
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
	}
	before, err := l.Index.Stats(p.Space) // last: it alone needs room to write
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
	if r.History, err = l.History.DropSpace(space); err != nil {
		return r, err
	}
	if r.Summaries, r.Predicted, err = l.Predictor.DropSpace(space); err != nil {
		return r, err
	}
	return r, l.Jobs.DropSpace(space)
}

// follow brings the other layers after documents that came in: answers that were
// made from the chunks which went by that are stale, and their tensors are of no
// use.
func (l *Library) follow(ctx context.Context, space string, gone []percached.ChunkID) error {
	var err error
	if len(gone) > 0 {
		l.Asker.Settle()
		// Documents that came in are in: who waits for them may go.
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

// gone are those of these chunks that the knowledge bank no longer holds.
func (l *Library) gone(space string, ids []percached.ChunkID) ([]percached.ChunkID, error) {
	alive, err := l.Knowledge.Versions(space, ids)
	// One that is damaged counts as gone: nothing that rests on it is served.
	if err != nil && !errors.Is(err, knowledgebank.ErrDamaged) && !errors.Is(err, kv.ErrDamaged) {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id percached.ChunkID) bool {
		_, ok := alive[id]
		return ok
	}), nil
}

// orphans are the chunks that are gone and that tensors or stored answers still
// rest on, or questions of the history.
func (l *Library) orphans(space string, asked bool) ([]percached.ChunkID, error) {
	named := map[percached.ChunkID]bool{}
	l.Tree.Nodes(space, func(n qkvtree.Info) { named[n.Chunk] = true })
	// From memory: an answer that cannot be read any more goes with its chunks, too.
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
		cited, err := l.History.Cited(space)
		if err != nil {
			return nil, err
		}
		for _, id := range cited {
			named[id] = true
		}
	}
	delete(named, percached.ChunkID{}) // instructions are no chunk
	return l.gone(space, slices.Collect(maps.Keys(named)))
}
