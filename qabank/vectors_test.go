package qabank

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// crowd is a bank with n vectors around some centres, and one near the first.
func crowd(n, dim int) (*Bank, []float32) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() []float32 {
		v := make([]float32, dim)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		return v
	}
	near := func(middle []float32, by float32) []float32 {
		v := random()
		for i := range v {
			v[i] = middle[i] + by*v[i]
		}
		return v
	}
	middles := make([][]float32, 50)
	for i := range middles {
		middles[i] = random()
	}
	s := newSpaceIndex("mail")
	for i := range n {
		it := &item{id: ID{byte(i), byte(i >> 8)}, space: s, embedder: "e"}
		s.items[it.id] = it
		v := near(middles[i%len(middles)], r.Float32())
		for j := range v {
			if i%3 == 0 && j >= head {
				v[j] /= 8 // nearly all of its length is in its head
			}
		}
		s.addVector(it, v)
	}
	return &Bank{spaces: map[string]*spaceIndex{"mail": s}}, near(middles[0], 0.1)
}

// The results equal those of a plain search, also after removals.
func TestNearMisses(t *testing.T) {
	for _, dim := range []int{1, 7, 8, 64, 100, 128, 131, 256} {
		b, q := crowd(400, dim)
		s := b.spaces["mail"]
		for i := range 100 {
			it := s.items[ID{byte(i * 3), byte(i * 3 >> 8)}]
			s.removeVector(it)
			delete(s.items, it.id)
		}
		for _, threshold := range []float64{-1, 0.5, 0.8, 0.95} {
			for _, n := range []int{1, 8, 1000} {
				type hit struct {
					id  ID
					cos float64
				}
				var want []hit
				for _, it := range s.items {
					row := it.block.data[it.row*dim : (it.row+1)*dim]
					sum, norm := 0.0, 0.0
					for i := range q {
						sum += float64(q[i]) * float64(row[i])
						norm += float64(q[i]) * float64(q[i])
					}
					if cos := sum / math.Sqrt(norm); cos >= threshold {
						want = append(want, hit{it.id, cos})
					}
				}
				slices.SortFunc(want, func(a, b hit) int {
					if math.Abs(a.cos-b.cos) > 1e-6 {
						return int(math.Copysign(1, b.cos-a.cos))
					}
					return slices.Compare(a.id[:], b.id[:])
				})
				got := b.nearest("mail", q, "e", threshold, n, func(*item) bool { return true })
				if len(got) != min(n, len(want)) {
					t.Fatalf("%d dimensions, threshold %v, n %d: %d found, want %d", dim, threshold, n, len(got), min(n, len(want)))
				}
				for i, g := range got {
					if math.Abs(g.similarity-want[i].cos) > 1e-5 {
						t.Errorf("%d dimensions, threshold %v, n %d: place %d has %v, want %v", dim, threshold, n, i, g.similarity, want[i].cos)
					}
				}
			}
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	bank, q := crowd(10_000, 256)
	b.ReportAllocs()
	for b.Loop() {
		bank.nearest("mail", q, "e", 0.88, 8, func(*item) bool { return true })
	}
}
