package retrieval

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
)

// clustered makes vectors as embeddings lie: in heaps of uneven size.
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
		v.set(numberID(i), 1, gauss(r, dim, c, 0.8))
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

func (v *vectors) graphed() *vectors {
	g := newGraph()
	for s := range int32(len(v.ids)) {
		if v.versions[s] != 0 {
			g.insert(v, s)
		}
	}
	v.graph = g
	return v
}

// round does all of what an arranger does in one.
func (v *vectors) round() {
	a := &arranger{v: v, begun: true, going: maps.Clone(v.graph.dead)}
	for a.going != nil {
		a.mend()
	}
	for more := true; more; {
		more = a.insert()
	}
}

// recall is the share of the n nearest that the graph finds. Of several as
// near, any will do.
func recall(v *vectors, questions [][]float32, n int) float64 {
	hits, all := 0, 0
	for _, q := range questions {
		got := v.nearest(q, n)
		g := v.graph
		v.graph = nil
		want := v.nearest(q, n)
		v.graph = g
		all += len(want)
		for _, m := range got {
			if m.score >= want[len(want)-1].score {
				hits++
			}
		}
	}
	return float64(hits) / float64(all)
}

func wantRecall(t *testing.T, what string, v *vectors, questions [][]float32) {
	t.Helper()
	if r := recall(v, questions, 10); r < 0.98 {
		t.Errorf("%s: recall %.4f", what, r)
	}
}

// near some of the vectors
func (v *vectors) questions(n int) [][]float32 {
	r := rand.New(rand.NewPCG(3, 3))
	var qs [][]float32
	for range n {
		qs = append(qs, gauss(r, v.dim, v.row(int32(r.IntN(len(v.ids)))), 0.6))
	}
	return qs
}

func TestGraphRecall(t *testing.T) {
	const n = 1200
	v := clustered(1, n, 24).graphed()
	qs := v.questions(60)
	wantRecall(t, "made", v, qs)
	again := clustered(1, n, 24).graphed()
	if d := cmp.Diff(v.graph, again.graph, cmp.AllowUnexported(graph{}), cmpopts(t)); d != "" {
		t.Error("made twice, it is another graph", d)
	}
	// A third goes, new ones come into their places.
	for i := 0; i < n; i += 3 {
		v.remove(numberID(i))
	}
	wantRecall(t, "a third is gone", v, qs)
	v.round()
	if len(v.free) != n/3 || v.graph.nodes != n-n/3 || len(v.graph.dead) != 0 {
		t.Errorf("%d slots are free, %d nodes", len(v.free), v.graph.nodes)
	}
	wantRecall(t, "mended", v, qs)
	fresh := clustered(2, n/3, 24)
	for i := range n / 3 {
		v.set(numberID(n+i), 2, fresh.row(int32(i)))
	}
	wantRecall(t, "some beside it", v, qs)
	v.round()
	if len(v.ids) != n {
		t.Errorf("%d slots", len(v.ids))
	}
	wantRecall(t, "grown", v, append(qs, fresh.questions(30)...))
	for id := range v.slots {
		v.remove(id)
	}
	if m := v.nearest(qs[0], 5); len(m) != 0 {
		t.Error("found what is gone")
	}
	v.graph.drop(maps.Clone(v.graph.dead))
	if v.graph.nodes != 0 || v.graph.entry != -1 {
		t.Error("an empty graph has nodes")
	}
	v.set(numberID(1), 1, qs[0])
	v.graph.insert(v, v.slots[numberID(1)])
	if m := v.nearest(qs[0], 5); len(m) != 1 {
		t.Error("an empty graph takes nothing in")
	}
}

// The built-in table of words lies otherwise than what is drawn: all its vectors have
// much in common.
func TestGraphRecallOfEmbeddings(t *testing.T) {
	e := nano(t)
	p := newProse(4)
	var texts []string
	for _, c := range p.chunks(700) {
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
	for i, r := range rows[:700] {
		v.set(numberID(i), 1, r)
	}
	wantRecall(t, "embeddings", v.graphed(), rows[700:])
}

func FuzzGraph(f *testing.F) {
	v := clustered(5, 60, 8).graphed()
	of := generation{Number: 3, Embedder: "e"}
	whole := encodeGraph(v, of)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(graphMagic))
	q := v.questions(1)[0]
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, sealed := range []bool{false, true} { // with a checksum that fits, what is behind it is tried
			if sealed && len(b) >= 4 {
				b = binary.LittleEndian.AppendUint32(bytes.Clone(b[:len(b)-4]), crc32.ChecksumIEEE(b[:len(b)-4]))
			}
			g, err := decodeGraph(b, v, of)
			if err != nil {
				continue
			}
			w := vectors{dim: v.dim, data: v.data, ids: v.ids, versions: v.versions, slots: v.slots, graph: g}
			w.nearest(q, 10)
		}
	})
}

func TestGraphFile(t *testing.T) {
	v := clustered(5, 500, 16).graphed()
	of := generation{Number: 3, Embedder: "e"}
	b := encodeGraph(v, of)
	g, err := decodeGraph(b, v, of)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(v.graph, g, cmp.AllowUnexported(graph{}), cmpopts(t)); d != "" {
		t.Error(d)
	}
	for i := range 3 {
		v.remove(numberID(i * 7))
	}
	if g, err := decodeGraph(b, v, of); err != nil || g.nodes != 497 {
		t.Errorf("without three: %v", err)
	}
	for i := range 100 {
		v.remove(numberID(i))
	}
	for name, fn := range map[string]func() ([]byte, generation){
		"much is gone":     func() ([]byte, generation) { return b, of },
		"other number":     func() ([]byte, generation) { return b, generation{Number: 4, Embedder: "e"} },
		"other embedder":   func() ([]byte, generation) { return b, generation{Number: 3, Embedder: "f"} },
		"a flipped byte":   func() ([]byte, generation) { c := bytes.Clone(b); c[len(c)/2] ^= 1; return c, of },
		"cut":              func() ([]byte, generation) { return b[:len(b)-9], of },
		"empty":            func() ([]byte, generation) { return nil, of },
		"a format to come": func() ([]byte, generation) { c := bytes.Clone(b); c[7] = 9; return c, of },
	} {
		c, of := fn()
		if _, err := decodeGraph(c, v, of); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// cmpopts leave out what is no part of a graph, and what lies behind the count of links.
func cmpopts(t *testing.T) cmp.Option {
	t.Helper()
	return cmp.FilterPath(func(p cmp.Path) bool {
		f, ok := p.Last().(cmp.StructField)
		return ok && (f.Name() == "walks" || f.Name() == "ground")
	}, cmp.Ignore())
}

// One search among so many vectors, with and without the graph, and what the
// graph costs.
func BenchmarkNearest(b *testing.B) {
	for _, n := range []int{10_000, 30_000, 100_000} {
		var v *vectors
		var qs [][]float32
		for _, name := range []string{"flat", "graph"} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				if v == nil {
					v = clustered(1, n, 256)
					qs = v.questions(200)
				}
				if name == "graph" && v.graph == nil {
					began := time.Now()
					v.graphed()
					b.Logf("%d nodes in %v, recall@10 %.4f", n, time.Since(began).Round(time.Millisecond), recall(v, qs, 10))
				}
				i := 0
				for b.Loop() {
					v.nearest(qs[i%len(qs)], 50)
					i++
				}
			})
		}
	}
}
