package qabank

import (
	"context"
	"math"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// block holds the normalised vectors of one space and one embedder in a row. Row i
// belongs to items[i].
type block struct {
	dim   int
	data  []float32
	tails []float32 // the length of each vector's part after head values
	items []*item
}

const (
	// head is how many values are multiplied before a vector may be skipped.
	head = 64
	// slack exceeds any rounding error.
	slack = 1e-4
)

// add appends a vector and records its row in the item.
func (b *block) add(it *item, v []float32) {
	it.block, it.row = b, len(b.items)
	b.items = append(b.items, it)
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	norm := math.Sqrt(sum)
	if norm == 0 {
		norm = 1
	}
	tail := 0.0
	for i, x := range v {
		x := float64(x) / norm
		b.data = append(b.data, float32(x))
		if i >= head {
			tail += x * x
		}
	}
	b.tails = append(b.tails, float32(math.Sqrt(tail)))
}

// cosine is the cosine of a normalised vector and row i. If it is certainly below least,
// the result may be any value below least: no two tails give more than the product of
// their lengths.
func (b *block) cosine(q *block, i int, least float32) float32 {
	row, query := b.data[i*b.dim:(i+1)*b.dim], q.data
	if b.dim < 2*head {
		return percached.Dot(query, row)
	}
	first := percached.Dot(query[:head], row[:head])
	if most := first + q.tails[0]*b.tails[i] + slack; most < least {
		return most
	}
	return first + percached.Dot(query[head:], row[head:])
}

// remove moves the last vector to the row of an item's.
func (b *block) remove(it *item) {
	last := len(b.items) - 1
	moved := b.items[last]
	copy(b.data[it.row*b.dim:(it.row+1)*b.dim], b.data[last*b.dim:])
	b.tails[it.row] = b.tails[last]
	b.items[it.row], moved.row = moved, it.row
	b.items[last] = nil
	b.items, b.data, b.tails = b.items[:last], b.data[:last*b.dim], b.tails[:last]
	it.block = nil
}

// embedder turns questions into vectors.
type embedder interface {
	Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error)
	Info() percached.EmbedderInfo
}

// Reembed computes vectors of this embedder, in the background, for the entries of a
// space that have another embedder's vector or none. It returns their number; work done
// before an error stays done. If vectors become longer, entries may be evicted.
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
		if isAbsent(err) {
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
		done, err := b.replaceVector(ctx, space, id, vectors[i], print)
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

// replaceVector changes only the vector of an entry.
func (b *Bank) replaceVector(ctx context.Context, space string, id ID, vector []float32, print string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	b.write.Lock()
	defer b.write.Unlock()
	e, err := b.Get(space, id)
	if isAbsent(err) || err == nil && e.Embedder == print {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	e.Vector, e.Embedder = vector, print
	if err := e.validate(); err != nil {
		return false, fault.New(fault.Invalid, "qabank.revector", "%w", err)
	}
	b.mu.RLock()
	it := b.find(space, id)
	fits := it.space.matchesDimension(print, vector)
	b.mu.RUnlock()
	if !fits {
		return false, fault.New(fault.Invalid, "qabank.revector", "the embedder returns vectors of two lengths")
	}
	content := encodeContent(&e)
	err = b.db.Update(func(tx *kv.Tx) error { return tx.Set(key(contentByte, it.space.hash, id), content) })
	if err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	it.space.removeVector(it)
	it.embedder = print
	it.space.addVector(it, vector)
	size := recordBytes(content, encodeState(it.state))
	b.bytes += size - it.size
	it.size = size
	return true, nil
}
