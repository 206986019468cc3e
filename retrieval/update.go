package retrieval

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

const (
	// batchChunks is how many chunks are written at a time. Each batch costs bleve a
	// file, and files cost merging.
	batchChunks = 512
	// batchBytes of text also fill a batch: their terms take many times as much memory
	// while they are written.
	batchBytes = 1 << 20
)

// Update catches up with the feed. It is cheap when there is nothing to do. After it
// returns, Search finds no chunk that was gone when it began.
func (x *Index) Update(ctx context.Context, name string) error {
	const op = "retrieval.Update"
	sp, done, err := x.openToChange(ctx, name)
	if err != nil {
		return fault.Wrap(op, err)
	}
	defer done()
	return fault.Wrap(op, x.catchUp(ctx, sp))
}

// catchUp brings the index of words and the vectors up to the feed, each from its own
// seq. The caller holds write.
func (x *Index) catchUp(ctx context.Context, sp *space) error {
	now, err := x.o.Feed.Seq(sp.name)
	if err != nil {
		return err
	}
	if err := sp.mend(x); err != nil {
		return err
	}
	rec, vec, _ := sp.state()
	ahead := sp.text.seq.Load() > now || rec.Seen > now || rec.Active.Seq > now
	if !ahead && sp.text.seq.Load() == now && rec.Seen == now && (vec == nil || rec.Active.Seq == now) {
		sp.caughtUp()
		return nil
	}
	if err := x.checkRoom(sp.dir); err != nil {
		return err
	}
	if sp.text.frozen {
		if err := sp.replace(func() (*text, error) { return openText(sp.dir, x.queue, false) }); err != nil {
			return fault.New(fault.Unavailable, "retrieval.catchUp", "%w", err)
		}
	}
	if ahead {
		x.log("rebuild an index that is ahead of its documents", "space", sp.name)
		err = x.readAll(ctx, sp)
	} else if err = x.follow(ctx, sp); fault.KindOf(err) == fault.Conflict {
		x.log("rebuild an index: the feed no longer lists the deletions", "space", sp.name)
		err = x.readAll(ctx, sp)
	}
	return err
}

// follow reads what is new, from the lower seq of words and vectors.
func (x *Index) follow(ctx context.Context, sp *space) error {
	rec, vec, _ := sp.state()
	w := &writer{x: x, sp: sp, rec: rec, text: sp.text, vec: vec, from: sp.text.seq.Load(), vecFrom: rec.Active.Seq}
	after := w.from
	if vec != nil {
		after = min(after, w.vecFrom)
	}
	if err := w.readFeed(ctx, after, nil); err != nil {
		return err
	}
	sp.caughtUp()
	return w.lost
}

// readAll reads everything from the start. Vectors stay if their chunk still has that
// version: a chunk's name is the hash of its text.
func (x *Index) readAll(ctx context.Context, sp *space) error {
	if err := sp.replace(func() (*text, error) { return emptyText(sp.dir, x.queue) }); err != nil {
		return fault.New(fault.Unavailable, "retrieval.renew", "%w", err)
	}
	rec, _, _ := sp.state()
	rec.Seen, rec.Active.Seq = 0, 0
	if err := x.saveRecord(sp, rec); err != nil {
		return err
	}
	return x.follow(ctx, sp)
}

// forgetVectors removes the record first: without it, vectors left by a crash belong to
// nobody.
func (x *Index) forgetVectors(sp *space) error {
	if err := clearKeys(x.o.DB, sp.id.record(), nil); err != nil {
		return err
	}
	return clearKeys(x.o.DB, sp.id.vectors(), nil)
}

// writer writes chunks from the feed to the index of words and the vectors.
type writer struct {
	x    *Index
	sp   *space
	rec  record
	text *text
	vec  *vectors // nil: words alone
	// The seqs of words and vectors: chunks up to there need not be written again.
	from, vecFrom uint64

	pending []percached.Chunk
	bytes   int // of their text
	seen    map[percached.ChunkID]bool
	taken   int
	// lost is why vectors could not be made. Words continue without them, and a later
	// update makes the vectors.
	lost error
}

// readFeed reads everything newer than after, then what was deleted. A feed read from its
// start lists no deletions: then everything that it does not name is deleted.
func (w *writer) readFeed(ctx context.Context, after uint64, progress func(done int)) error {
	w.seen = map[percached.ChunkID]bool{}
	gone, upto, err := w.x.o.Feed.Changes(w.sp.name, after, func(c percached.Chunk) error {
		if len(w.pending) == batchChunks || w.bytes >= batchBytes {
			if err := w.flush(ctx, nil, 0); err != nil {
				return err
			}
			if progress != nil {
				progress(w.taken)
			}
		}
		w.seen[c.ID] = true
		w.pending = append(w.pending, c)
		w.bytes += len(c.Head) + len(c.Body)
		w.taken++
		return nil
	})
	if err != nil {
		return err
	}
	gone = slices.DeleteFunc(slices.Clone(gone), func(id percached.ChunkID) bool { return w.seen[id] })
	if after == 0 {
		strays, err := w.strays()
		if err != nil {
			return err
		}
		gone = append(gone, strays...)
	}
	if err := w.flush(ctx, gone, upto); err != nil {
		return err
	}
	if progress != nil {
		progress(w.taken)
	}
	return nil
}

// strays are chunks with a vector of any generation that a feed read from its start
// does not name.
func (w *writer) strays() (gone []percached.ChunkID, err error) {
	head := len(w.sp.id.generation(0))
	err = w.x.o.DB.View(func(tx *kv.Tx) error {
		return tx.Keys(w.sp.id.vectors(), func(k []byte, _ int64) error {
			if len(k) != head+len(percached.ChunkID{}) {
				return nil
			}
			if id := percached.ChunkID(k[head:]); !w.seen[id] {
				gone = append(gone, id)
			}
			return nil
		})
	})
	return gone, err
}

// flush writes what is pending. The last flush of a pull also writes what was deleted,
// and the seq of the feed. The database is written first: an index of words that is
// ahead of it belongs to another database.
func (w *writer) flush(ctx context.Context, gone []percached.ChunkID, upto uint64) error {
	if err := w.x.ended(ctx); err != nil {
		return err
	}
	made, err := w.embed(ctx)
	if err != nil {
		return err
	}
	if err := w.store(made, gone, upto); err != nil {
		return err
	}
	chunks := w.pending[:0]
	for _, c := range w.pending {
		if c.Version > w.from {
			chunks = append(chunks, c)
		}
	}
	w.pending, w.bytes = w.pending[:0], 0
	if len(chunks) == 0 && upto == 0 {
		return nil
	}
	if err := w.x.checkRoom(w.text.dir); err != nil {
		return err
	}
	err = w.text.write(chunks, gone, upto)
	if err == nil && upto > 0 {
		err = w.text.settle(ctx)
	}
	if err != nil {
		return w.x.failed(w.sp, w.text, err)
	}
	return nil
}

// checkRoom refuses to write when the disk would become too full. Merging may take as much
// space as the index has.
func (x *Index) checkRoom(dir string) error {
	size, err := folderBytes(dir)
	if err == nil {
		err = durable.Room(x.o.Dir, 0, x.o.MinFree+size)
	}
	if err != nil {
		return fault.New(fault.Unavailable, "retrieval.room", "%w", err)
	}
	return nil
}

// failed closes an index that could not be written. Its next use opens it again as it
// is on disk.
func (x *Index) failed(sp *space, t *text, cause error) error {
	if sp.text == t {
		sp.filesInUse.Lock()
		if err := sp.closeFiles(); err != nil {
			x.log("cannot close an index", "error", err)
		}
		sp.filesInUse.Unlock()
	}
	kind := fault.Unavailable
	if errors.Is(cause, errDamaged) {
		kind = fault.Internal
	}
	return fault.New(kind, "retrieval.write", "%w", cause)
}

// Rebuild makes the index of words in a new folder and swaps it in: no byte of the old
// one stays. It also repairs the vectors: it makes missing ones and removes those
// without a chunk.
func (x *Index) Rebuild(ctx context.Context, name string, progress func(done, total int)) error {
	const op = "retrieval.Rebuild"
	sp, done, err := x.openToChange(ctx, name)
	if err != nil {
		return fault.Wrap(op, err)
	}
	defer done()
	total := 0
	if _, _, err := x.o.Feed.Changes(name, 0, func(percached.Chunk) error { total++; return x.ended(ctx) }); err != nil {
		return fault.Wrap(op, err)
	}
	tell := func(done int) {
		if progress != nil {
			progress(done, max(done, total))
		}
	}
	tell(0)
	dir := sp.dir + unfinished
	t, err := emptyText(dir, x.queue)
	if err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	rec, vec, _ := sp.state()
	w := &writer{x: x, sp: sp, rec: rec, text: t, vec: vec}
	err = w.readFeed(ctx, 0, tell)
	if shut := t.close(); err == nil && shut != nil {
		err = fault.New(fault.Unavailable, op, "%w", shut)
	}
	if err != nil {
		_ = os.RemoveAll(dir) // otherwise Open does
		return fault.Wrap(op, err)
	}
	if err := sp.replace(func() (*text, error) {
		if err := remove(sp.dir); err != nil {
			return nil, err
		}
		if err := os.Rename(dir, sp.dir); err != nil {
			return nil, err
		}
		if err := durable.Folder(filepath.Dir(dir)); err != nil {
			return nil, err
		}
		return openText(sp.dir, x.queue, false)
	}); err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	sp.caughtUp()
	return fault.Wrap(op, w.lost)
}

// Drop removes everything about a space.
func (x *Index) Drop(name string) error {
	const op = "retrieval.Drop"
	sp, err := x.findNamed(name)
	if err != nil {
		return fault.Wrap(op, err)
	}
	select {
	case sp.write <- struct{}{}:
	case <-x.quit:
		return fault.New(fault.Unavailable, op, "%w", errClosed)
	}
	defer func() { <-sp.write }()
	sp.filesInUse.Lock()
	defer sp.filesInUse.Unlock()
	if err := sp.closeFiles(); err != nil {
		x.log("cannot close an index", "error", err)
	}
	x.mu.Lock()
	delete(x.open, sp)
	x.mu.Unlock()
	for _, dir := range []string{sp.dir, sp.dir + unfinished} {
		if err := remove(dir); err != nil {
			return fault.New(fault.Unavailable, op, "%w", err)
		}
	}
	return fault.Wrap(op, x.forgetVectors(sp))
}
