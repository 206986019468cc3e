package retrieval

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/percached/percached"
)

// byTheBook computes one chunk's score for a question from the formula.
func byTheBook(all []percached.Chunk, at int, q string) float64 {
	count := func(text, term string) (n float64) {
		eachTerm(text, func(s string, _ kind) {
			if s == term {
				n++
			}
		})
		return n
	}
	fields := []struct {
		boost float64
		text  func(c percached.Chunk) string
	}{
		{1, func(c percached.Chunk) string { return c.Body }},
		{0.5, func(c percached.Chunk) string { return c.Head }},
	}
	sum, found, asked := 0.0, 0.0, 0.0
	for _, a := range question(q) {
		share, has := 0.0, false
		for _, f := range fields {
			df, mean := 0.0, 0.0
			for _, c := range all {
				mean += float64(len(terms(f.text(c)))) / float64(len(all))
				if count(f.text(c), a.term) > 0 {
					df++
				}
			}
			if df == 0 {
				continue
			}
			idf := math.Log(1 + (float64(len(all))-df+0.5)/(df+0.5))
			share = max(share, idf)
			if tf := count(f.text(all[at]), a.term); tf > 0 {
				has = true
				length := float64(len(terms(f.text(all[at]))))
				sum += a.weight * f.boost * idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*length/mean))
			}
		}
		asked += a.weight * share
		if has {
			found += a.weight * share
		}
	}
	if asked == 0 {
		return 0
	}
	return sum * found / asked
}

// Scores are those of BM25: over one segment, over several, and after deletions.
func TestScoresAreBM25(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Embedder = nil })
	all := []percached.Chunk{
		chunk("### Harbour (mail from Ana Ruiz)", "The harbour gauge and the harbour wall. Harbour harbour harbour."),
		chunk("### Rent (mail from Mr Drewitt)", "The rent is $1,185 from April on."),
		chunk("### Heron (meeting)", "Samir: the gauge goes into the water at the harbour on Tuesday, and then we wait for a year of data, which is long."),
		chunk("### Gauges (note)", "Gauges."),
		chunk("### Cat (note)", "Pickle eats fish. Pickle sleeps. The vet says Pickle is fine."),
	}
	gone := chunk("### Gone (note)", "harbour gauge rent pickle "+strings.Repeat("filler ", 300))
	check := func(what string) {
		t.Helper()
		for _, q := range []string{"harbour", "harbour gauge", "Where does the gauge go, and what is the rent?", "gauges at the harbour on tuesday 1185", "pickle unknownword"} {
			got := map[percached.ChunkID]float64{}
			for _, h := range b.ask(q, 10) {
				got[h.Chunk] = h.BM25
			}
			for i, c := range all {
				if want := byTheBook(all, i, q); math.Abs(got[c.ID]-want) > 1e-9 {
					t.Errorf("%s: %q, %s: %v, want %v", what, q, c.Head, got[c.ID], want)
				}
			}
		}
	}
	b.feed.add("s", all...)
	b.update()
	check("one segment")
	b.feed.remove("s", all[1].ID, all[2].ID)
	b.feed.add("s", gone)
	b.update()
	b.feed.add("s", all[1])
	b.update()
	b.feed.remove("s", gone.ID)
	b.feed.add("s", all[2])
	b.update()
	check("several")
	if err := b.Rebuild(t.Context(), "s", nil); err != nil {
		t.Fatal(err)
	}
	check("rebuilt")
}

// A question is text: nothing in it is an operator, and any length or content gets an
// answer.
func TestQuestionsAreText(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Embedder = nil })
	got := b.feed.add("s", numbered(0, 30)...)
	b.update()
	for _, q := range []string{
		`body:item3`, `+item3 -shelf`, `"item3"~`, `item3^9 OR (`, `/item3/`, `*item3*`, `item3 AND NOT item3`, "item3\x00", "item3\xff\xfe",
		strings.Repeat("what is the item3 ", 5000), "item3 " + strings.Repeat("x", 1<<20),
	} {
		if hits := b.ask(q, 1); len(hits) != 1 || hits[0].Chunk != got[3] {
			t.Errorf("%.40q: %+v", q, hits)
		}
	}
	many := "item3 item3 item3"
	for i := range 3000 {
		many += fmt.Sprintf(" q%d", i)
	}
	if hits := b.ask(many, 1); len(hits) != 1 || hits[0].Chunk != got[3] {
		t.Errorf("many words: %+v", hits)
	}
	for _, q := range []string{"", " ", "???", "unheardof"} {
		if hits := b.ask(q, 3); len(hits) != 0 {
			t.Errorf("%q: %+v", q, hits)
		}
	}
	// Words without meaning are better than none.
	if hits := b.ask("the on", 3); len(hits) != 3 {
		t.Errorf("stop words alone: %+v", hits)
	}
}

// Ties are broken by chunk even where the ranking is cut.
func TestTies(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Embedder, o.Candidates = nil, 1 })
	var want percached.ChunkID
	for i := range 50 {
		c := chunk(fmt.Sprintf("### T%d", i), "equal words here")
		c.Head = "### T"
		if i == 0 || strings.Compare(string(c.ID[:]), string(want[:])) < 0 {
			want = c.ID
		}
		b.feed.add("s", c)
	}
	b.update()
	if hits := b.ask("equal words", 1); len(hits) != 1 || hits[0].Chunk != want {
		t.Errorf("%+v", hits)
	}
}

func TestFusion(t *testing.T) {
	a, c, d, e := percached.ChunkID{1}, percached.ChunkID{2}, percached.ChunkID{3}, percached.ChunkID{4}
	words := []match{{a, 8}, {c, 4}, {d, 2}}
	near := []match{{d, 0.9}, {e, 0.5}, {a, 0.4}}
	others := map[percached.ChunkID]float64{e: 1}
	cosines := map[percached.ChunkID]float64{c: -0.5}
	for _, tt := range []struct {
		name   string
		o      Options
		vector []match
		want   map[percached.ChunkID]float64
	}{
		{"weighted", Options{Fusion: Weighted, VectorWeight: 0.5}, near, map[percached.ChunkID]float64{a: 0.7, c: 0.25, d: 0.575, e: 0.3125}},
		{"weighted, words alone", Options{Fusion: Weighted, VectorWeight: 0.5}, nil, map[percached.ChunkID]float64{a: 1, c: 0.5, d: 0.25}},
		{"rrf", Options{Fusion: RRF, VectorWeight: 0.5, RankConstant: 1}, near, map[percached.ChunkID]float64{a: 0.375, c: 1.0 / 6, d: 0.375, e: 1.0 / 6}},
		{"rrf, words alone", Options{Fusion: RRF, VectorWeight: 0.5, RankConstant: 1}, nil, map[percached.ChunkID]float64{a: 0.5, c: 1.0 / 3, d: 0.25}},
	} {
		hits := tt.o.fuse(words, tt.vector, others, cosines)
		if len(hits) != len(tt.want) {
			t.Errorf("%s: %+v", tt.name, hits)
		}
		for i, h := range hits {
			if math.Abs(h.Score-tt.want[h.Chunk]) > 1e-12 {
				t.Errorf("%s: %v scores %v, want %v", tt.name, h.Chunk, h.Score, tt.want[h.Chunk])
			}
			if i > 0 && (h.Score > hits[i-1].Score || h.Score == hits[i-1].Score && h.Chunk.String() < hits[i-1].Chunk.String()) {
				t.Errorf("%s: not in order: %+v", tt.name, hits)
			}
		}
	}
}
