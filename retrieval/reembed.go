package retrieval

import (
	"context"
	"errors"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
)

// reembedChunks is how many chunks Reembed takes before it lets others change
// the space.
const reembedChunks = 32

var errEnough = errors.New("enough for now")

// Reembed makes the vectors of the embedder at hand where those stored are of
// another one, and tells how many it made. It can be cancelled, and goes on
// where it was. Until it is done the space is searched by words alone.
func (x *Index) Reembed(ctx context.Context, name string, progress func(done, total int)) (n int, err error) {
	const op = "retrieval.Reembed"
	if x.o.Embedder == nil {
		return 0, fault.New(fault.Unsupported, op, "there is no embedder")
	}
	for {
		made, have, total, done, err := x.reembedSome(ctx, name)
		n += made
		if err != nil || done {
			return n, fault.Wrap(op, err)
		}
		if progress != nil {
			progress(have, max(have, total))
		}
	}
}

// reembedSome makes some of the next generation, and swaps it in when none is
// missing.
func (x *Index) reembedSome(ctx context.Context, name string) (made, have, total int, done bool, err error) {
	sp, release, err := x.change(ctx, name)
	if err != nil {
		return 0, 0, 0, false, err
	}
	defer release()
	rec, vec, _ := sp.state()
	if vec != nil {
		return 0, 0, 0, true, nil
	}
	info := x.o.Embedder.Info()
	if rec.Next == nil || !fits(*rec.Next, info) {
		if rec, err = x.beginNext(sp, rec); err != nil {
			return 0, 0, 0, false, err
		}
	}
	chunks, upto, err := x.some(name, rec.Next.Seq)
	if fault.KindOf(err) == fault.Conflict && rec.Next.Seq > 0 { // what went since is not known
		_, err = x.beginNext(sp, rec)
		return 0, 0, 0, false, err
	}
	if err != nil {
		return 0, 0, 0, false, err
	}
	if len(chunks) == 0 {
		return 0, 0, 0, true, x.swapNext(sp, rec, upto)
	}
	texts := make([]string, len(chunks))
	for i := range chunks {
		texts[i] = chunks[i].Head + "\n" + chunks[i].Body
	}
	rows, err := x.embed(ctx, texts, info.Dimensions)
	if err != nil {
		return 0, 0, 0, false, err
	}
	next := *rec.Next
	next.Seq, next.Count = upto, next.Count+len(chunks)
	rec.Next = &next
	err = x.saveRecord(sp, rec, func(set func(k, v []byte) error) error {
		for i, c := range chunks {
			if err := set(sp.id.vector(next.Number, c.ID), encodeVector(c.Version, rows[i])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, 0, 0, false, err
	}
	total, err = sp.text.chunkCount()
	return len(chunks), next.Count, total, false, err
}

// some gives the next chunks behind a seq, whole versions of them, and the seq
// up to which none is missing then.
func (x *Index) some(name string, after uint64) (chunks []percached.Chunk, upto uint64, err error) {
	enough := false
	_, upto, err = x.o.Feed.Changes(name, after, func(c percached.Chunk) error {
		if n := len(chunks); n >= reembedChunks && chunks[n-1].Version < c.Version {
			enough = true
			return errEnough
		}
		chunks = append(chunks, c)
		return nil
	})
	if enough {
		return chunks, chunks[len(chunks)-1].Version, nil
	}
	return chunks, upto, err
}

// beginNext makes room for a generation of the embedder at hand.
func (x *Index) beginNext(sp *space, rec record) (record, error) {
	info := x.o.Embedder.Info()
	number := rec.Active.Number + 1
	if rec.Next != nil {
		number = rec.Next.Number + 1
	}
	rec.Next = &generation{Number: number, Embedder: info.Fingerprint, Dimensions: info.Dimensions}
	if err := x.saveRecord(sp, rec, nil); err != nil {
		return rec, err
	}
	return rec, sp.sweep(x, rec)
}

// swapNext makes the next generation the active one.
func (x *Index) swapNext(sp *space, rec record, upto uint64) error {
	rec.Active, rec.Next = *rec.Next, nil
	rec.Active.Seq = upto
	vec, whole, err := loadVectors(x.o.DB, sp.id, rec.Active)
	if err != nil {
		return err
	}
	if !whole {
		rec.Active.Seq = 0
	}
	if err := x.saveRecord(sp, rec, nil); err != nil {
		return err
	}
	sp.mu.Lock()
	sp.vec = vec
	sp.mu.Unlock()
	return sp.sweep(x, rec)
}

// saveRecord writes a record, and before it what fn sets.
func (x *Index) saveRecord(sp *space, rec record, fn func(set func(k, v []byte) error) error) error {
	b := x.o.DB.Bulk()
	defer b.Cancel()
	if fn != nil {
		if err := fn(b.Set); err != nil {
			return err
		}
	}
	if err := b.Set(sp.id.record(), rec.encode()); err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	sp.mu.Lock()
	sp.rec = rec
	sp.mu.Unlock()
	return nil
}
