package retrieval

import (
	"math"
	"runtime"
	"sync"
)

// A search compares the question with every vector in two passes. The first one
// estimates all cosines from vectors rounded to seven bits and keeps a shortlist; the
// second one computes the cosines of the shortlist from the stored vectors.
//
// Eight numbers of a rounded vector lie in one 64-bit word, a byte each. Take the
// even bytes a0, a2, a4, a6 of a word and those of the question b0, b2, b4, b6 in
// reverse order. The top 16 bits of the product of both are then
// a0*b0 + a2*b2 + a4*b4 + a6*b6: no sum of four products exceeds 4*126*126 = 63,504,
// so no carry reaches them. One multiplication thus does the work of four.
const (
	levels = 63 // a rounded number lies between -levels and levels, and is stored with levels added
	even   = 0x00ff00ff00ff00ff

	// The shortlist has shortlistFactor times as many chunks as are wanted, and at
	// least shortlistLeast.
	shortlistFactor = 4
	shortlistLeast  = 200

	// scanPart is how many vectors are worth a goroutine, scanParts how many goroutines
	// scan at most.
	scanPart  = 8192
	scanParts = 4
)

// packScale turns the dot product of packed vectors into one of vectors.
type packScale struct {
	step float32 // the difference between two levels
	bias int32   // levels times the sum of the stored bytes
}

func packedWords(dim int) int { return (dim + 7) / 8 }

// pack rounds a vector to seven bits. Bytes behind its end are 0.
func pack(to []uint64, v []float32) packScale {
	var bits uint32 // of the largest number; comparing bits is faster than comparing numbers
	for _, x := range v {
		bits = max(bits, math.Float32bits(x)&^(1<<31))
	}
	largest := math.Float32frombits(bits)
	step, inverse := largest/levels, float32(0)
	if step > 0 {
		inverse = levels / largest
	}
	sum := int32(0)
	for i := range to {
		word := uint64(0)
		for k, x := range v[8*i : min(8*i+8, len(v))] {
			level := min(uint8(x*inverse+levels+0.5), 2*levels)
			word |= uint64(level) << (8 * k)
			sum += int32(level)
		}
		to[i] = word
	}
	return packScale{step, levels * sum}
}

// packedQuestion is a question's vector as dot wants it.
type packedQuestion struct {
	pairs [][2]uint64 // for each word its even bytes and its odd ones, both in reverse order
	rest  int32       // what the levels that were added to both sides leave to be added
}

func packQuestion(q []float32) packedQuestion {
	words := make([]uint64, packedWords(len(q)))
	scale := pack(words, q)
	p := packedQuestion{pairs: make([][2]uint64, len(words)), rest: levels*levels*int32(len(q)) - scale.bias}
	for i, w := range words {
		for k := range 4 {
			p.pairs[i][0] |= w >> (16 * k) & 0xff << (48 - 16*k)
			p.pairs[i][1] |= w >> (16*k + 8) & 0xff << (48 - 16*k)
		}
	}
	return p
}

// dot is the dot product of the stored bytes of a row and a question. Several sums
// run beside each other, so that no addition waits for the one before.
func (q packedQuestion) dot(row []uint64) int32 {
	var s0, s1, s2, s3 uint64
	pairs := q.pairs[:len(row)]
	for len(row) >= 2 && len(pairs) >= 2 {
		a, b := (*[2]uint64)(row), (*[2][2]uint64)(pairs)
		s0 += (a[0] & even) * b[0][0] >> 48
		s1 += (a[0] >> 8 & even) * b[0][1] >> 48
		s2 += (a[1] & even) * b[1][0] >> 48
		s3 += (a[1] >> 8 & even) * b[1][1] >> 48
		row, pairs = row[2:], pairs[2:]
	}
	for i, a := range row {
		s0 += (a & even) * pairs[i][0] >> 48
		s1 += (a >> 8 & even) * pairs[i][1] >> 48
	}
	return int32(s0 + s1 + s2 + s3)
}

// shortlist returns n chunks that seem nearest to q, in no order.
func (v *vectors) shortlist(q []float32, n int) []near {
	packed := packQuestion(q)
	parts := min(len(v.ids)/scanPart+1, runtime.GOMAXPROCS(0), scanParts)
	tops := make([]topList, parts)
	var scans sync.WaitGroup
	for i := range parts {
		tops[i] = topList{of: v, n: n}
		scans.Go(func() { tops[i].scan(packed, i*len(v.ids)/parts, (i+1)*len(v.ids)/parts) })
	}
	scans.Wait()
	for _, t := range tops[1:] {
		for _, c := range t.heap {
			tops[0].add(c.slot, c.cosine)
		}
	}
	return tops[0].heap
}

// scan adds the vectors in slots from to end.
func (t *topList) scan(q packedQuestion, from, end int) {
	v := t.of
	worst := float32(0)
	for s := from; s < end; s++ {
		if v.versions[s] == 0 {
			continue
		}
		at := s * v.words
		dot := q.dot(v.packed[at : at+v.words])
		estimate := v.scales[s].step * float32(dot-v.scales[s].bias+q.rest)
		if len(t.heap) == t.n && estimate < worst {
			continue
		}
		t.add(int32(s), estimate)
		worst = t.heap[0].cosine
	}
}
