package retrieval

import (
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// reembedChunks is how many vectors Reembed writes at a time. Others may change the
// space between two writes.
const reembedChunks = 32

// Reembed makes the vectors of the current embedder if the stored ones are another's,
// and returns how many it made. It can be cancelled, and continues where it was. Until
// it is done, searches use words alone.
func (x *Index) Reembed(ctx context.Context, name string, progress func(done, total int)) (n int, err error) {
	const op = "retrieval.Reembed"
	if x.o.Embedder == nil {
		return 0, fault.New(fault.Unsupported, op, "no embedding model is configured")
	}
	sp, err := x.findKnown(name)
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	select {
	case sp.reembed <- struct{}{}:
		defer func() { <-sp.reembed }()
	default:
		return 0, fault.New(fault.Conflict, op, "another call is already making new vectors")
	}
	p := &reembedding{x: x, name: name, progress: progress}
	for {
		stale, err := p.begin(ctx)
		if err != nil || !stale {
			return p.made, fault.Wrap(op, err)
		}
		if err := p.pass(ctx); err != nil {
			return p.made, fault.Wrap(op, err)
		}
	}
}

// reembedding reads the feed until nothing is left to do, and then swaps the vectors.
// It holds the space only while it writes.
type reembedding struct {
	x        *Index
	name     string
	progress func(done, total int)

	number  uint32                       // of the new generation
	have    map[percached.ChunkID]uint64 // the versions that it has
	after   uint64                       // the seq that a pass has caught up with
	pending []percached.Chunk
	made    int
	total   int
}

// begin makes a generation for the current embedder, or finds an unfinished one. It
// returns false if there is nothing to do.
func (p *reembedding) begin(ctx context.Context) (stale bool, err error) {
	sp, release, err := p.x.openToChange(ctx, p.name)
	if err != nil {
		return false, err
	}
	defer release()
	rec, vec, _ := sp.state()
	if vec != nil {
		return false, nil
	}
	if info := p.x.o.Embedder.Info(); rec.Next == nil || !fits(*rec.Next, info) {
		number := rec.Active.Number + 1
		if rec.Next != nil {
			number = rec.Next.Number + 1
		}
		rec.Next = &generation{Number: number, Embedder: info.Fingerprint, Dimensions: info.Dimensions}
		if err := p.x.saveRecord(sp, rec); err != nil {
			return false, err
		}
		if err := sp.sweep(p.x, rec); err != nil {
			return false, err
		}
	}
	if p.have == nil || p.number != rec.Next.Number {
		p.number, p.after, p.have = rec.Next.Number, 0, map[percached.ChunkID]uint64{}
		if err := p.x.storedVersions(sp, *rec.Next, p.have); err != nil {
			return false, err
		}
	}
	sp.noteDeletions() // for chunks that are deleted while the feed is read
	p.total, err = sp.text.chunkCount()
	return true, err
}

// pass makes the vectors that the generation lacks. If nothing was added meanwhile, it
// swaps.
func (p *reembedding) pass(ctx context.Context) error {
	seen := map[percached.ChunkID]bool{}
	p.pending = p.pending[:0]
	gone, upto, err := p.x.o.Feed.Changes(p.name, p.after, func(c percached.Chunk) error {
		seen[c.ID] = true
		if p.have[c.ID] == c.Version {
			return nil
		}
		if p.pending = append(p.pending, c); len(p.pending) < reembedChunks {
			return nil
		}
		return p.write(ctx)
	})
	if err == nil {
		err = p.write(ctx)
	}
	if fault.KindOf(err) == fault.Conflict && p.after > 0 { // the feed no longer knows what was deleted since
		p.after = 0
		return nil
	}
	if err != nil {
		return err
	}
	if p.after == 0 {
		for id := range p.have {
			if !seen[id] {
				gone = append(gone, id)
			}
		}
	} else {
		gone = slices.DeleteFunc(slices.Clone(gone), func(id percached.ChunkID) bool { return seen[id] })
	}
	p.after = upto
	return p.end(ctx, gone)
}

// write embeds and stores pending chunks, except those deleted meanwhile.
func (p *reembedding) write(ctx context.Context) error {
	info := p.x.o.Embedder.Info()
	texts := make([]string, len(p.pending))
	for i := range p.pending {
		texts[i] = p.pending[i].Head + "\n" + p.pending[i].Body
	}
	rows, err := p.x.embed(ctx, texts, info.Dimensions, 0)
	if err != nil {
		return err
	}
	err = p.locked(ctx, func(sp *space, _ record) error {
		b := p.x.o.DB.Bulk()
		defer b.Cancel()
		for i, c := range p.pending {
			if sp.deleted[c.ID] {
				continue
			}
			if err := b.Set(sp.id.vector(p.number, c.ID), encodeVector(c.Version, toHalves(rows[i]))); err != nil {
				return err
			}
			p.have[c.ID] = c.Version
		}
		return b.Flush()
	})
	if err != nil {
		return err
	}
	p.made += len(p.pending)
	p.pending = p.pending[:0]
	if p.progress != nil {
		p.progress(len(p.have), max(len(p.have), p.total))
	}
	return nil
}

// end removes deleted chunks and, if the feed has not moved on, swaps.
func (p *reembedding) end(ctx context.Context, gone []percached.ChunkID) error {
	return p.locked(ctx, func(sp *space, rec record) error {
		now, err := p.x.o.Feed.Seq(p.name)
		if err != nil {
			return err
		}
		if err := p.x.removeVectors(sp.id, p.number, gone); err != nil {
			return err
		}
		for _, id := range gone {
			delete(p.have, id)
		}
		for id := range sp.deleted {
			delete(p.have, id)
		}
		if now != p.after {
			return nil
		}
		rec.Active, rec.Next = *rec.Next, nil
		rec.Active.Seq = p.after
		vec, whole, err := loadVectors(p.x.o.DB, sp.id, rec.Active)
		if err != nil {
			return err
		}
		if !whole {
			rec.Active.Seq = 0
		}
		if err := p.x.saveRecord(sp, rec); err != nil {
			return err
		}
		sp.mu.Lock()
		sp.vec = vec
		sp.mu.Unlock()
		sp.deleted = nil
		return sp.sweep(p.x, rec)
	})
}

// locked runs fn while nobody else changes the space. It fails if others have replaced
// the generation meanwhile.
func (p *reembedding) locked(ctx context.Context, fn func(sp *space, rec record) error) error {
	sp, release, err := p.x.openToChange(ctx, p.name)
	if err != nil {
		return err
	}
	defer release()
	rec, vec, _ := sp.state()
	if vec != nil || rec.Next == nil || rec.Next.Number != p.number || sp.deleted == nil {
		p.have = nil
		return fault.New(fault.Conflict, "retrieval.Reembed", "the space was replaced meanwhile; try again")
	}
	return fn(sp, rec)
}

// storedVersions reads the versions of a generation's vectors.
func (x *Index) storedVersions(sp *space, g generation, to map[percached.ChunkID]uint64) error {
	head := sp.id.generation(g.Number)
	row := make([]uint16, g.Dimensions)
	return x.o.DB.View(func(tx *kv.Tx) error {
		return tx.Each(head, func(key, value []byte) error {
			if version, ok := decodeVector(value, row); ok && len(key) == len(head)+len(percached.ChunkID{}) {
				to[percached.ChunkID(key[len(head):])] = version
			}
			return nil
		})
	})
}

func (x *Index) removeVectors(id spaceID, number uint32, gone []percached.ChunkID) error {
	b := x.o.DB.Bulk()
	defer b.Cancel()
	for _, c := range gone {
		if err := b.Delete(id.vector(number, c)); err != nil {
			return err
		}
	}
	return b.Flush()
}
