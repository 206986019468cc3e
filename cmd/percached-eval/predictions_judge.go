package main

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/retrieval"
)

// alike is the similarity at which two questions are not distinct.
const alike = 0.95

// verdict is a question, judged by rules and documents.
type verdict struct {
	Question  string  `json:"question,omitempty"`
	From      string  `json:"from,omitempty"`
	Ill       string  `json:"ill_formed,omitempty"` // why
	Supported bool    `json:"supported"`            // by one chunk
	Distinct  bool    `json:"distinct"`             // from all before it
	Cosine    float64 `json:"cosine"`               // to its best chunk
	Kept      bool    `json:"kept"`                 // passed the filter without the floor
	Ready     bool    `json:"ready,omitempty"`

	vector []float32
	words  string // its content words
}

// judge applies the rules to all questions, in the final state of the predicting service.
func (b *predictionBench) judge(ctx context.Context, questions, foreign []string) error {
	i := slices.IndexFunc(b.services, func(a *asking) bool { return a.name == predictedService })
	s := b.services[i].Node
	found, err := s.Predictor.Predictions(predictSpace)
	if err != nil {
		return err
	}
	slices.Reverse(found) // the earliest first
	var guessed []string
	for _, p := range found {
		guessed = append(guessed, p.Question)
	}
	j := &judge{Node: s, k: b.K, share: b.share}
	for _, group := range []struct {
		questions []string
		to        *[]verdict
	}{{guessed, &b.report.guesses}, {questions, &b.report.real}, {foreign, &b.report.foreign}} {
		if *group.to, err = j.all(ctx, group.questions); err != nil {
			return err
		}
	}
	for i, p := range found {
		b.report.guesses[i].From, b.report.guesses[i].Ready = string(p.From), p.Populated
	}
	made := b.services[i].work.made
	b.report.Rounds, b.report.AskedFor = made, made*b.Idle.Stride
	if b.list {
		b.report.List = b.report.guesses
	}
	return b.report.judge(s)
}

// judge compares questions with the documents of a service.
type judge struct {
	*node.Node
	k     int
	share float64
}

func (j *judge) all(ctx context.Context, questions []string) ([]verdict, error) {
	var out []verdict
	filter := &idle.Check{Knowledge: j.Knowledge, Index: j.Index, Bank: j.Bank, Embedder: j.QuestionEmbedder, Settings: j.Asker, Floor: -1}
	for _, q := range questions {
		g := verdict{Question: q, Ill: illFormed(q)}
		vs, err := j.QuestionEmbedder.Embed(ctx, percached.Foreground, []string{q})
		if err != nil {
			return nil, err
		}
		g.vector, g.words = vs[0], strings.Join(slices.Sorted(slices.Values(contentWords(q))), " ")
		hits, err := j.Index.Search(ctx, retrieval.Query{Space: predictSpace, Text: q, Vector: vs[0], K: j.k})
		if err != nil {
			return nil, err
		}
		var ids []percached.ChunkID
		for _, h := range hits {
			ids = append(ids, h.Chunk)
		}
		chunks, err := j.Knowledge.Chunks(predictSpace, ids)
		if err != nil {
			return nil, err
		}
		for _, c := range chunks {
			g.Supported = g.Supported || supports(c.Rendered(), q, j.share)
		}
		if len(hits) > 0 {
			g.Cosine = hits[0].Cosine
		}
		if g.Kept, err = filter.Supported(ctx, predictSpace, q); err != nil {
			return nil, err
		}
		g.Distinct = !slices.ContainsFunc(out, func(o verdict) bool {
			return o.words != "" && o.words == g.words || cosine(o.vector, g.vector) >= alike
		})
		out = append(out, g)
	}
	return out, nil
}

// cosine of two vectors of length 1.
func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// supports says that a chunk has every name and number of a question, and at least a share of
// its content words. A question without content words is never supported.
func supports(chunk, question string, share float64) bool {
	there := map[string]bool{}
	for _, w := range tokens(chunk) {
		there[stem(w)] = true
		for _, part := range strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune("-./&@", r) }) {
			there[stem(part)] = true
		}
	}
	for _, n := range properWords(question) {
		if !there[stem(n)] {
			return false
		}
	}
	n, all := 0, 0
	for _, w := range contentWords(question) {
		if attributes.has(w) {
			continue
		}
		if all++; there[w] {
			n++
		}
	}
	return all > 0 && float64(n) >= share*float64(all)
}

// properWords returns the words of a question with a digit or a capital, without its first
// word.
func properWords(question string) []string {
	var out []string
	for i, w := range strings.Fields(question) {
		if strings.ContainsFunc(w, unicode.IsDigit) || i > 0 && strings.ContainsFunc(w, unicode.IsUpper) {
			for _, t := range tokens(w) {
				if !function(t) {
					out = append(out, t)
				}
			}
		}
	}
	return out
}
