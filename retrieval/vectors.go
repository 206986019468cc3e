package retrieval

import (
	"bytes"
	"cmp"
	"slices"
	"sync"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// vectors are those of one space, in one block. A vector keeps its slot until
// its chunk goes; slots are used again.
type vectors struct {
	dim int

	mu       sync.RWMutex
	data     []float32 // slot by slot
	ids      []percached.ChunkID
	versions []uint64 // 0: the slot is free
	slots    map[percached.ChunkID]int32
	free     []int32
	graph    *graph // over some of the slots, or nil
	unkept   bool   // the graph's file lacks some of it; of who holds write
}

func newVectors(dim int) *vectors {
	return &vectors{dim: dim, slots: map[percached.ChunkID]int32{}}
}

// loadVectors reads a generation. Whole says that each of its values could be
// read; the others are left out.
func loadVectors(db *kv.DB, id spaceID, g generation) (v *vectors, whole bool, err error) {
	v, whole = newVectors(g.Dimensions), true
	head := id.generation(g.Number)
	err = db.View(func(tx *kv.Tx) error {
		n := 0
		if err := tx.Keys(head, func([]byte, int64) error { n++; return nil }); err != nil {
			return err
		}
		v.grow(n)
		row := make([]float32, v.dim)
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

// grow makes room for n vectors, and no more than that.
func (v *vectors) grow(n int) {
	v.data = slices.Grow(v.data, n*v.dim)
	v.ids = slices.Grow(v.ids, n)
	v.versions = slices.Grow(v.versions, n)
}

// set puts a vector in, in place of the chunk's earlier one. The caller holds
// the lock, if others can see v.
func (v *vectors) set(id percached.ChunkID, version uint64, row []float32) {
	v.remove(id)
	var s int32
	if n := len(v.free); n > 0 {
		s, v.free = v.free[n-1], v.free[:n-1]
		copy(v.row(s), row)
		v.ids[s], v.versions[s] = id, version
	} else {
		if len(v.ids) == cap(v.ids) {
			v.grow(len(v.ids)/8 + 64) // doubling a large block would cost too much memory
		}
		s = int32(len(v.ids))
		v.data = append(v.data, row...)
		v.ids, v.versions = append(v.ids, id), append(v.versions, version)
	}
	v.slots[id] = s
}

func (v *vectors) remove(id percached.ChunkID) {
	s, ok := v.slots[id]
	if !ok {
		return
	}
	delete(v.slots, id)
	v.versions[s] = 0
	if v.graph.has(s) {
		v.graph.bury(s) // its row still leads the way, so the slot is not free
	} else {
		v.free = append(v.free, s)
	}
}

func (v *vectors) row(s int32) []float32 {
	at := int(s) * v.dim
	return v.data[at : at+v.dim : at+v.dim]
}

// near is a chunk with a vector near that of a question.
type near struct {
	slot   int32
	cosine float32
}

// nearest gives the n chunks nearest to q and their cosines, best first.
func (v *vectors) nearest(q []float32, n int) []match {
	v.mu.RLock()
	defer v.mu.RUnlock()
	top := topList{of: v, n: n}
	if v.graph != nil {
		for _, c := range v.graph.search(v, q, n) {
			top.add(c.slot, c.cosine)
		}
	}
	for s := range int32(len(v.ids)) {
		if v.versions[s] != 0 && !v.graph.has(s) {
			top.add(s, percached.Dot(q, v.row(s)))
		}
	}
	return top.matches()
}

// cosines adds those of the chunks that have a vector.
func (v *vectors) cosines(q []float32, ids []percached.ChunkID, to map[percached.ChunkID]float64) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, id := range ids {
		if s, ok := v.slots[id]; ok {
			to[id] = float64(percached.Dot(q, v.row(s)))
		}
	}
}

// version of a chunk's vector, 0 if there is none.
func (v *vectors) version(id percached.ChunkID) uint64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if s, ok := v.slots[id]; ok {
		return v.versions[s]
	}
	return 0
}

// counts tells how many there are, and how many of them the graph has.
func (v *vectors) counts() (all, graphed int) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, s := range v.slots {
		if v.graph.has(s) {
			graphed++
		}
	}
	return len(v.slots), graphed
}

// topList keeps the n best in a heap, the worst on top.
type topList struct {
	of   *vectors
	n    int
	heap []near
}

// worse orders by cosine, then by chunk, so that slots do not matter.
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
