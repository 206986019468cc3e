package qabank

import (
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// embedder turns questions into vectors.
type embedder interface {
	Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error)
	Info() percached.EmbedderInfo
}

// Reembed gives the entries of a space whose vector is another embedder's, or
// that have none, a vector of this one, in the background. It tells how many
// there were; what was done before an error stays done. Where vectors are longer
// than before, entries may have to make room.
func (b *Bank) Reembed(ctx context.Context, space string, by embedder) (n int, err error) {
	const op = "qabank.Reembed"
	print := by.Info().Fingerprint
	var ids []ID
	b.mu.RLock()
	if s := b.spaces[space]; s != nil {
		for _, it := range s.items {
			if it.embedder != print {
				ids = append(ids, it.id)
			}
		}
	}
	b.mu.RUnlock()
	for part := range slices.Chunk(ids, 32) {
		k, err := b.reembed(ctx, space, part, by, print)
		n += k
		if err != nil {
			return n, fault.Wrap(op, err)
		}
	}
	return n, nil
}

func (b *Bank) reembed(ctx context.Context, space string, ids []ID, by embedder, print string) (n int, err error) {
	var there []ID
	var questions []string
	for _, id := range ids {
		e, err := b.Get(space, id)
		if absent(err) {
			continue
		}
		if err != nil {
			return 0, err
		}
		there, questions = append(there, id), append(questions, e.Question)
	}
	if len(there) == 0 {
		return 0, ctx.Err()
	}
	vectors, err := by.Embed(ctx, percached.Background, questions)
	if err != nil {
		return 0, err
	}
	for i, id := range there {
		done, err := b.revector(ctx, space, id, vectors[i], print)
		if err != nil {
			return n, err
		}
		if done {
			n++
		}
	}
	b.write.Lock()
	defer b.write.Unlock()
	return n, b.shrink(ctx)
}

// revector changes the vector of one entry and nothing else of it.
func (b *Bank) revector(ctx context.Context, space string, id ID, vector []float32, print string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	b.write.Lock()
	defer b.write.Unlock()
	e, err := b.Get(space, id)
	if absent(err) || err == nil && e.Embedder == print {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	e.Vector, e.Embedder = vector, print
	if err := e.check(); err != nil {
		return false, fault.New(fault.Invalid, "qabank.revector", "%w", err)
	}
	b.mu.RLock()
	it := b.find(space, id)
	fits := it.space.fits(print, vector)
	b.mu.RUnlock()
	if !fits {
		return false, fault.New(fault.Invalid, "qabank.revector", "the embedder gives vectors of two lengths")
	}
	content := encodeContent(&e)
	err = b.db.Update(func(tx *kv.Tx) error { return tx.Set(key(contentByte, it.space.hash, id), content) })
	if err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	it.space.lift(it)
	it.embedder = print
	it.space.place(it, vector)
	size := recordBytes(content, encodeState(it.state))
	b.bytes += size - it.size
	it.size = size
	return true, nil
}
