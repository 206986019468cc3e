package persona_test

import (
	"context"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qabank/likeness"
)

// gate says whether the answer to one question would be served for another, if
// both rest on the same chunk, and how similar they are.
type gate struct {
	*llmtest.FakeEmbedder
	vectors map[string][]float32
	normal  map[string]string
}

func newGate(t *testing.T) gate {
	e := llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())
	t.Cleanup(func() { _ = e.Close() })
	return gate{e, map[string][]float32{}, map[string]string{}}
}

func (g gate) vector(t *testing.T, text string) []float32 {
	t.Helper()
	if g.vectors[text] == nil {
		v, err := g.Embed(context.Background(), percached.Foreground, []string{text})
		if err != nil {
			t.Fatal(err)
		}
		g.vectors[text] = v[0]
	}
	return g.vectors[text]
}

// same says whether one question is an exact repeat of the other.
func (g gate) same(a, b string) bool {
	for _, q := range []string{a, b} {
		if g.normal[q] == "" {
			g.normal[q] = qabank.Normalise(q)
		}
	}
	return g.normal[a] == g.normal[b]
}

// serves reports whether an answer is proven to be the other question's.
func (g gate) serves(t *testing.T, stored, asked string, threshold float64) (bool, float64, qabank.Verdict) {
	t.Helper()
	similar := float64(percached.Dot(g.vector(t, stored), g.vector(t, asked)))
	verdict := qabank.Judge(qabank.Candidate{Entry: qabank.Entry{
		Space: "s", Question: stored, Answered: true, Evidence: []percached.Evidence{{Chunk: percached.ChunkID{1}, Version: 1}},
	}, Similarity: similar}, qabank.Ask{
		Question: asked, Exact: g.same(stored, asked), Own: []percached.ChunkID{{1}},
		Versions: map[percached.ChunkID]uint64{{1}: 1}, Threshold: threshold, Now: start, Guard: true,
	})
	return verdict.Serve && (g.same(stored, asked) || likeness.SameWording(asked, stored)), similar, verdict
}

// near is serves in haste: most questions are not similar at all.
func (g gate) near(t *testing.T, stored, asked string, threshold float64) bool {
	t.Helper()
	if float64(percached.Dot(g.vector(t, stored), g.vector(t, asked))) < threshold && !g.same(stored, asked) {
		return false
	}
	ok, _, _ := g.serves(t, stored, asked, threshold)
	return ok
}

// Repeats pass the gate, of the paraphrases a good part, and of what only looks
// alike nothing.
func TestGate(t *testing.T) {
	g := newGate(t)
	n, passed := map[persona.Relation]int{}, map[persona.Relation]int{}
	for _, name := range []string{"typical", "busy", "meetings"} {
		for _, e := range persona.New(find(t, name), 5, start).Events() {
			x := e.Expect
			if e.Kind != persona.Asked || x.Of == "" {
				continue
			}
			ok, similar, v := g.serves(t, x.Of, e.Question, 0.85)
			n[x.Relation]++
			if ok {
				passed[x.Relation]++
			}
			switch {
			case x.Relation == persona.Repeat && !ok:
				t.Errorf("%q is turned away from %q: %+v", e.Question, x.Of, v)
			case x.Relation == persona.Near && ok:
				t.Errorf("%q is answered as %q", e.Question, x.Of)
			case x.Relation == persona.Paraphrase && !ok:
				t.Logf("%.3f %q -> %q", similar, x.Of, e.Question)
				for _, test := range v.Tests {
					if !test.Passed {
						t.Logf("      %s: %s", test.Name, test.Detail)
					}
				}
			}
		}
	}
	share := float64(passed[persona.Paraphrase]) / float64(n[persona.Paraphrase])
	t.Logf("%v, of which pass %v", n, passed)
	if n[persona.Paraphrase] < 50 || share < 0.5 || n[persona.Near] < 30 {
		t.Errorf("%.2f of %d paraphrases pass; %d near misses", share, n[persona.Paraphrase], n[persona.Near])
	}
}

// What an odd person asks is served by no question before it.
func TestOdd(t *testing.T) {
	g := newGate(t)
	var before []string
	for _, e := range persona.New(find(t, "unpredictable"), 6, start).Events() {
		if e.Kind != persona.Asked {
			continue
		}
		for _, q := range before {
			if g.near(t, q, e.Question, 0.8) {
				t.Errorf("%q is answered as %q", e.Question, q)
			}
		}
		before = append(before, e.Question)
	}
}
