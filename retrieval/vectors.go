package retrieval

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// vectors holds the vectors of one space in memory. A vector keeps its slot until
// its chunk is removed; the slot is then used again.
type vectors struct {
	dim   int
	words int // of packed, per slot

	mu       sync.RWMutex
	halves   []uint16 // dim per slot, as stored on disk
	packed   []uint64 // the same, rounded to seven bits: see scan.go
	scales   []packScale
	ids      []percached.ChunkID
	versions []uint64 // 0: the slot is free
	slots    map[percached.ChunkID]int32
	free     []int32
	buffer   []float32 // used by set
}

func newVectors(dim int) *vectors {
	return &vectors{dim: dim, words: packedWords(dim), slots: map[percached.ChunkID]int32{}, buffer: make([]float32, dim)}
}

// loadVectors reads a generation. whole is false if a value could not be read; such
// values are left out.
func loadVectors(db *kv.DB, id spaceID, g generation) (v *vectors, whole bool, err error) {
	v, whole = newVectors(g.Dimensions), true
	head := id.generation(g.Number)
	err = db.View(func(tx *kv.Tx) error {
		n := 0
		if err := tx.Keys(head, func([]byte, int64) error { n++; return nil }); err != nil {
			return err
		}
		v.grow(n)
		row := make([]uint16, v.dim)
		return tx.Each(head, func(key, value []byte) error {
			version, ok := decodeVector(value, row)
			if len(key) != len(head)+len(percached.ChunkID{}) || !ok {
				whole = false
				return nil
			}
			v.set(percached.ChunkID(key[len(head):]), version, row)
			return nil
		})
	})
	return v, whole, err
}

// grow makes room for n more vectors.
func (v *vectors) grow(n int) {
	v.halves = slices.Grow(v.halves, n*v.dim)
	v.packed = slices.Grow(v.packed, n*v.words)
	v.scales = slices.Grow(v.scales, n)
	v.ids = slices.Grow(v.ids, n)
	v.versions = slices.Grow(v.versions, n)
}

// set stores a chunk's vector and replaces an earlier one. The caller holds the
// lock if others can see v.
func (v *vectors) set(id percached.ChunkID, version uint64, row []uint16) {
	v.remove(id)
	var s int32
	if n := len(v.free); n > 0 {
		s, v.free = v.free[n-1], v.free[:n-1]
	} else {
		s = int32(len(v.ids))
		v.halves = append(v.halves, row...)
		v.packed = append(v.packed, make([]uint64, v.words)...)
		v.scales, v.ids, v.versions = append(v.scales, packScale{}), append(v.ids, id), append(v.versions, version)
	}
	v.ids[s], v.versions[s], v.slots[id] = id, version, s
	copy(v.row(s), row)
	fromHalves(v.buffer, row)
	at := int(s) * v.words
	v.scales[s] = pack(v.packed[at:at+v.words], v.buffer)
}

func (v *vectors) remove(id percached.ChunkID) {
	s, ok := v.slots[id]
	if !ok {
		return
	}
	delete(v.slots, id)
	v.versions[s] = 0
	v.free = append(v.free, s)
}

func (v *vectors) row(s int32) []uint16 {
	at := int(s) * v.dim
	return v.halves[at : at+v.dim : at+v.dim]
}

// cosine compares q with the vector in a slot. buffer has room for one vector.
func (v *vectors) cosine(q []float32, s int32, buffer []float32) float32 {
	fromHalves(buffer, v.row(s))
	return percached.Dot(q, buffer)
}

// nearest returns the n chunks nearest to q and their cosines, best first.
func (v *vectors) nearest(q []float32, n int) []match {
	v.mu.RLock()
	defer v.mu.RUnlock()
	top := topList{of: v, n: n}
	buffer := make([]float32, v.dim)
	for _, c := range v.shortlist(q, max(shortlistLeast, shortlistFactor*n)) {
		top.add(c.slot, v.cosine(q, c.slot, buffer))
	}
	return top.matches()
}

// cosines adds the cosines of those chunks that have a vector.
func (v *vectors) cosines(q []float32, ids []percached.ChunkID, to map[percached.ChunkID]float64) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	buffer := make([]float32, v.dim)
	for _, id := range ids {
		if s, ok := v.slots[id]; ok {
			to[id] = float64(v.cosine(q, s, buffer))
		}
	}
}

// version returns the version of a chunk's vector, 0 if it has none.
func (v *vectors) version(id percached.ChunkID) uint64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if s, ok := v.slots[id]; ok {
		return v.versions[s]
	}
	return 0
}

func (v *vectors) count() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return len(v.slots)
}

// near is a chunk whose vector is near that of a question.
type near struct {
	slot   int32
	cosine float32 // in the shortlist an estimate without the question's scale
}

// topList keeps the n best in a heap, the worst on top.
type topList struct {
	of   *vectors
	n    int
	heap []near
}

// worse orders by cosine, then by chunk, so that the order of slots has no influence.
func (t *topList) worse(a, b near) bool {
	if a.cosine != b.cosine {
		return a.cosine < b.cosine
	}
	return bytes.Compare(t.of.ids[a.slot][:], t.of.ids[b.slot][:]) > 0
}

func (t *topList) add(slot int32, cosine float32) {
	c := near{slot, cosine}
	h := t.heap
	if len(h) < t.n {
		t.heap = append(h, c)
		h = t.heap
		for i := len(h) - 1; i > 0 && t.worse(h[i], h[(i-1)/2]); i = (i - 1) / 2 {
			h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
		}
		return
	}
	if cosine < h[0].cosine || !t.worse(h[0], c) {
		return
	}
	h[0] = c
	for i := 0; ; {
		least := 2*i + 1
		if least+1 < len(h) && t.worse(h[least+1], h[least]) {
			least++
		}
		if least >= len(h) || !t.worse(h[least], h[i]) {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

func (t *topList) matches() []match {
	out := make([]match, 0, len(t.heap))
	for _, c := range t.heap {
		out = append(out, match{id: t.of.ids[c.slot], score: float64(c.cosine)})
	}
	slices.SortFunc(out, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.score, a.score), bytes.Compare(a.id[:], b.id[:]))
	})
	return out
}

// On disk vectors are halves: two bytes a number, rounded to the nearest even. Numbers
// too large become the largest half.

const maxHalf = 65504

func toHalf(f float32) uint16 {
	bits := math.Float32bits(min(max(f, -maxHalf), maxHalf))
	sign := uint16(bits >> 16 & 0x8000)
	exp := int(bits>>23&0xff) - 127
	mantissa := bits&0x7fffff | 0x800000
	switch {
	case f != f:
		return 0 // nobody can use such a vector
	case exp < -25:
		return sign
	case exp < -14: // subnormal
		shift := uint(-14-exp) + 13
		return sign | uint16(round(mantissa, shift))
	}
	// The rounded mantissa may carry into the exponent, as it should.
	return sign | uint16(uint32(exp+14)<<10+round(mantissa, 13))
}

func round(m uint32, shift uint) uint32 {
	half := uint32(1) << (shift - 1)
	q, rest := m>>shift, m&(half<<1-1)
	if rest > half || rest == half && q&1 == 1 {
		q++
	}
	return q
}

// fromHalf moves the bits to their place in a 32-bit float. The factor corrects the
// exponent, whose bias is lower by 112. That is exact for subnormals, too.
func fromHalf(h uint16) float32 {
	return math.Float32frombits(uint32(h&0x8000)<<16|uint32(h&0x7fff)<<13) * 0x1p112
}

func toHalves(v []float32) []uint16 {
	out := make([]uint16, len(v))
	for i, x := range v {
		out[i] = toHalf(x)
	}
	return out
}

// fromHalves writes into to, which is as long as row.
func fromHalves(to []float32, row []uint16) {
	for i, h := range row {
		to[i] = fromHalf(h)
	}
}
