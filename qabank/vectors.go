package qabank

import (
	"math"

	"github.com/percached/percached"
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
