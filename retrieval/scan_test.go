package retrieval

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
)

// clustered makes vectors like embeddings: in clusters of uneven size.
func clustered(seed uint64, n, dim int) *vectors {
	r := rand.New(rand.NewPCG(seed, 7))
	centres := make([][]float32, 1+n/100)
	for i := range centres {
		centres[i] = gauss(r, dim, nil, 1)
	}
	v := newVectors(dim)
	v.grow(n)
	for i := range n {
		c := centres[int(math.Pow(r.Float64(), 2)*float64(len(centres)))]
		v.set(numberID(i), 1, toHalves(gauss(r, dim, c, 0.8)))
	}
	return v
}

func numberID(i int) (id percached.ChunkID) {
	binary.BigEndian.PutUint64(id[:], uint64(i)*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(id[8:], uint64(i))
	return id
}

func gauss(r *rand.Rand, dim int, around []float32, spread float64) []float32 {
	v := make([]float32, dim)
	sum := 0.0
	for i := range v {
		v[i] = float32(r.NormFloat64() * spread)
		if around != nil {
			v[i] += around[i] * float32(math.Sqrt(float64(dim)))
		}
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// questions are vectors near some of v.
func (v *vectors) questions(n int) [][]float32 {
	r := rand.New(rand.NewPCG(3, 3))
	row := make([]float32, v.dim)
	var qs [][]float32
	for range n {
		fromHalves(row, v.row(int32(r.IntN(len(v.ids)))))
		qs = append(qs, gauss(r, v.dim, row, 0.6))
	}
	return qs
}

// exact compares q with every vector as it is stored.
func (v *vectors) exact(q []float32, n int) []match {
	top := topList{of: v, n: n}
	buffer := make([]float32, v.dim)
	for _, s := range v.slots {
		top.add(s, v.cosine(q, s, buffer))
	}
	return top.matches()
}

// recall is the share of the n nearest that a search finds. Of several as near, any
// will do.
func recall(v *vectors, questions [][]float32, n int) float64 {
	hits, all := 0, 0
	for _, q := range questions {
		want := v.exact(q, n)
		all += len(want)
		for _, m := range v.nearest(q, n) {
			if m.score >= want[len(want)-1].score {
				hits++
			}
		}
	}
	return float64(hits) / float64(all)
}

func TestNearestRecall(t *testing.T) {
	for _, c := range []struct{ n, dim int }{{3 * scanPart, 24}, {3000, 256}, {3000, 384}, {1000, 771}, {150, 13}} {
		v := clustered(1, c.n, c.dim)
		for _, n := range []int{1, 64} {
			if r := recall(v, v.questions(20), n); r < 0.99 {
				t.Errorf("%d vectors of %d dimensions: recall@%d is %.4f", c.n, c.dim, n, r)
			}
		}
	}
}

// All vectors of the built-in table of words have much in common: they are harder to
// tell apart than random ones.
func TestNearestRecallOfEmbeddings(t *testing.T) {
	e := nano(t)
	p := newProse(4)
	var texts []string
	for _, c := range p.chunks(2000) {
		texts = append(texts, c.Head+"\n"+c.Body)
	}
	for range 40 {
		texts = append(texts, "What did "+p.words(9)+"?")
	}
	rows, err := e.Embed(t.Context(), percached.Foreground, texts)
	if err != nil {
		t.Fatal(err)
	}
	v := newVectors(len(rows[0]))
	for i, r := range rows[:2000] {
		v.set(numberID(i), 1, toHalves(r))
	}
	if r := recall(v, rows[2000:], 64); r < 0.99 {
		t.Errorf("recall@64 is %.4f", r)
	}
}

// The order in which vectors came and went has no influence on what is found.
func TestNearestDependsOnVectorsAlone(t *testing.T) {
	const n = 1500
	v := clustered(1, n, 24)
	other := newVectors(24)
	for i := n - 1; i >= 0; i-- {
		other.set(numberID(n+i), 1, v.row(0))
		if i%2 == 0 {
			other.remove(numberID(n + i))
		}
		other.set(numberID(i), 1, v.row(int32(i)))
	}
	for i := range n {
		other.remove(numberID(n + i))
	}
	if len(other.slots) != n || len(other.free)+n != len(other.ids) {
		t.Fatalf("%d vectors and %d free slots in %d", len(other.slots), len(other.free), len(other.ids))
	}
	for _, q := range v.questions(10) {
		if d := cmp.Diff(v.nearest(q, 50), other.nearest(q, 50), cmp.AllowUnexported(match{})); d != "" {
			t.Error(d)
		}
	}
	for id := range other.slots {
		other.remove(id)
	}
	if found := other.nearest(v.questions(1)[0], 5); len(found) != 0 {
		t.Errorf("found %d of no vectors", len(found))
	}
}

// The packed dot product is that of the rounded numbers, at the ends of their range too.
func TestPackedDot(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, dim := range []int{1, 7, 8, 9, 16, 24, 100, 384} {
		ones, minus := slices.Repeat([]float32{1}, dim), slices.Repeat([]float32{-1}, dim)
		for i, pair := range [][2][]float32{
			{ones, ones},
			{ones, minus},
			{minus, minus},
			{gauss(r, dim, nil, 1), gauss(r, dim, nil, 1)},
			{make([]float32, dim), ones},
		} {
			a := make([]uint64, packedWords(dim))
			scale := pack(a, pair[0])
			b := make([]uint64, packedWords(dim))
			pack(b, pair[1])
			want := int32(0)
			for k := range dim {
				want += (int32(a[k/8]>>(k%8*8)&0xff) - levels) * (int32(b[k/8]>>(k%8*8)&0xff) - levels)
			}
			q := packQuestion(pair[1])
			if got := q.dot(a) - scale.bias + q.rest; got != want {
				t.Errorf("%d dimensions, pair %d: %d, not %d", dim, i, got, want)
			}
		}
	}
}

// Vectors that no embedder should make do no harm.
func TestPackOddVectors(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	v := newVectors(4)
	for i, row := range [][]float32{{0, 0, 0, 0}, {inf, -inf, 0, 1}, {nan, 1, 0, 0}, {1e-30, 0, 0, 0}, {65504, -65504, 1, 0}} {
		v.set(numberID(i), 1, toHalves(row))
		v.nearest(row, 3)
	}
	if found := v.nearest([]float32{1, 0, 0, 0}, 10); len(found) != 5 {
		t.Errorf("found %d of 5", len(found))
	}
}

// The file of a graph that earlier versions wrote is removed.
func TestOldGraphFileIsRemoved(t *testing.T) {
	b := newBench(t, nil)
	b.feed.add("s", numbered(0, 3)...)
	b.update()
	path := filepath.Join(b.spaces["s"].dir, "graph")
	if err := os.WriteFile(path, []byte("pcgraph\x01"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.reopen()
	if s := b.stats(); s.Vectors != 3 {
		t.Errorf("%d vectors, not 3", s.Vectors)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

func BenchmarkNearest(b *testing.B) {
	for _, dim := range []int{256, 384, 768} {
		for _, n := range []int{10_000, 20_000, 100_000} {
			v := clustered(1, n, dim)
			qs := v.questions(200)
			b.Run(fmt.Sprintf("%dx%d", n, dim), func(b *testing.B) {
				i := 0
				for b.Loop() {
					v.nearest(qs[i%len(qs)], 64)
					i++
				}
			})
		}
	}
}
