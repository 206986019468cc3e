package retrieval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/static"
	"github.com/percached/percached/models"
)

// prose makes text with the statistics of mail: few frequent words, many rare ones, and
// the function words of every text between them.
type prose struct {
	r *rand.Rand
	z *rand.Zipf
}

func newProse(seed uint64) prose {
	r := rand.New(rand.NewPCG(seed, 1))
	return prose{r, rand.NewZipf(r, 1.1, 8, 40_000)}
}

func (p prose) word() string {
	if p.r.IntN(100) < 45 {
		return stopWords[p.r.IntN(len(stopWords))]
	}
	n := p.z.Uint64()
	syllables := [...]string{"ba", "lor", "te", "min", "ga", "sul", "ri", "den", "po", "kal", "vi", "nes", "to", "har", "ju", "mel"}
	w := ""
	for n += 17; n > 0; n /= 16 {
		w += syllables[n%16]
	}
	return w
}

func (p prose) words(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = p.word()
	}
	return strings.Join(out, " ")
}

func (p prose) chunks(n int) []percached.Chunk {
	out := make([]percached.Chunk, n)
	for i := range out {
		head := fmt.Sprintf("### %s (mail from %s, Tue %d February 2025)", p.words(4), p.words(2), 1+i%28)
		out[i] = chunk(head, p.words(100)+fmt.Sprintf(" number %d.", i))
	}
	return out
}

func nano(t testing.TB) *static.Embedder {
	t.Helper()
	e, err := static.Parse(context.Background(), "nano-embed", models.NanoEmbed())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func loaded(b *testing.B, n int) (*bench, prose) {
	x := newBench(b, nil)
	x.o.Embedder = nano(b)
	x.reopen()
	p := newProse(1)
	for chunks := p.chunks(n); len(chunks) > 0; chunks = chunks[min(5, len(chunks)):] {
		x.feed.add("s", chunks[:min(5, len(chunks))]...)
	}
	if err := x.Update(b.Context(), "s"); err != nil {
		b.Fatal(err)
	}
	return x, p
}

func BenchmarkSearch(b *testing.B) {
	x, p := loaded(b, 10_000)
	e := x.o.Embedder
	var qs []Query
	for range 100 {
		text := "What did " + p.words(9) + "?"
		v, err := e.Embed(b.Context(), percached.Foreground, []string{text})
		if err != nil {
			b.Fatal(err)
		}
		qs = append(qs, Query{Space: "s", Text: text, Vector: v[0], K: 3})
	}
	for _, words := range []bool{false, true} {
		name := "hybrid"
		if words {
			name = "words"
		}
		b.Run(name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				q := qs[i%len(qs)]
				if words {
					q.Vector = nil
				}
				if _, err := x.Search(b.Context(), q); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
	b.Run("vectors", func(b *testing.B) {
		_, vec, _ := x.spaces["s"].state()
		i := 0
		for b.Loop() {
			vec.nearest(qs[i%len(qs)].Vector, 50)
			i++
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	p := newProse(2)
	chunks := p.chunks(4000)
	for b.Loop() {
		x := newBench(b, nil)
		x.o.Embedder = nano(b)
		x.reopen()
		x.feed.add("s", chunks...)
		x.update()
		x.Close()
	}
	b.ReportMetric(float64(len(chunks)*b.N)/b.Elapsed().Seconds(), "chunks/s")
}
