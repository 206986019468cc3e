package qabank

import (
	"context"
	"math"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// block holds the vectors of one space and one embedder behind each other,
// each of length 1. Row i belongs to items[i].
type block struct {
	dim   int
	data  []float32
	tails []float32 // the length of each vector's part behind head values
	items []*item
}

const (
	// head is how many values are multiplied before a vector may be given up.
	head = 64
	// slack is more than rounding can make of it.
	slack = 1e-4
)

// add appends a vector and tells its item where it lies.
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

// cosine is that of a vector of length 1 and the one in row i. Where it is
// sure to be below least it may be anything below: no pair of tails gives more
// than the product of their lengths.
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

// remove puts the last vector in the place of an item's.
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

// revector changes the vector of one entry and nothing else of it.
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
		return false, fault.New(fault.Invalid, "qabank.revector", "the embedder gives vectors of two lengths")
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
