package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/retrieval"
)

func aheadCommand() *cobra.Command {
	return overNode(&cobra.Command{
		Use:   "ahead",
		Short: "Measure which chunks are worth reading ahead",
		Long: `Reads one JSON object a line from standard input, in the order in which they were asked:
space, question. For a budget of 5, 20 and 50 % of a space's chunks it reports the share
of retrieved chunks that each rule would have stored before the question: an oracle that
knows all later questions, the newest documents first, the chunks retrieved most often so
far, and percached's own estimate. Every rule ranks all chunks anew after each question.
No model runs but the embedder.`,
		Example: `  percached-eval bench ahead --data ~/trial < questions.jsonl`,
	}, measureAhead)
}

// aheadBudgets are shares of a space's chunks, in percent.
var aheadBudgets = [...]int{5, 20, 50}

// aheadReport is the report of bench ahead.
type aheadReport struct {
	Spaces    int         `json:"spaces"`
	Chunks    int         `json:"chunks"`
	Questions int         `json:"questions"`
	Retrieved int         `json:"retrieved"` // chunks, by all questions
	Rules     []aheadRule `json:"rules"`
}

// aheadRule is a way to choose chunks.
type aheadRule struct {
	Name string `json:"name"`
	// Share of the retrieved chunks that were stored, by budget.
	Shares [len(aheadBudgets)]float64 `json:"shares"`

	worth  func(past, future []askedOnce) map[percached.ChunkID]float64
	stored [len(aheadBudgets)]int
}

// askedOnce is a question with what a search for it finds. Its record has the chunks that
// percached retrieves.
type askedOnce struct {
	answer.Record
	hits []retrieval.Hit
}

func measureAhead(ctx context.Context, s *node.Node, c node.Options, in io.Reader, _ io.Writer) (*aheadReport, error) {
	set, err := s.Settings(c.Config)
	if err != nil {
		return nil, err
	}
	names, questions, err := searchAll(ctx, s, set.K, in)
	if err != nil {
		return nil, err
	}
	rep := &aheadReport{Spaces: len(names), Rules: []aheadRule{
		{Name: "oracle", worth: func(_, future []askedOnce) map[percached.ChunkID]float64 { return retrievals(future) }},
		{Name: "newest first", worth: func(_, _ []askedOnce) map[percached.ChunkID]float64 { return nil }},
		{Name: "most often retrieved", worth: func(past, _ []askedOnce) map[percached.ChunkID]float64 { return retrievals(past) }},
		{Name: "percached", worth: func(past, _ []askedOnce) map[percached.ChunkID]float64 { return expected(past) }},
	}}
	for _, name := range names {
		chunks, err := newestFirst(s, name)
		if err != nil {
			return nil, err
		}
		rep.Chunks += len(chunks)
		rep.count(chunks, questions[name])
	}
	for i := range rep.Rules {
		for b, n := range rep.Rules[i].stored {
			rep.Rules[i].Shares[b] = ratio(float64(n), float64(rep.Retrieved))
		}
	}
	return rep, nil
}

// searchAll reads the questions and searches for them. It returns the spaces in order, and
// the questions of each.
func searchAll(ctx context.Context, s *node.Node, k int, in io.Reader) (names []string, questions map[string][]askedOnce, err error) {
	questions = map[string][]askedOnce{}
	lines := json.NewDecoder(bufio.NewReader(in))
	for n := 1; ; n++ {
		var q struct{ Space, Question string }
		switch err := lines.Decode(&q); {
		case errors.Is(err, io.EOF):
			return names, questions, nil
		case err != nil:
			return nil, nil, cmdline.Misusef("question %d: %v", n, err)
		}
		vectors, err := s.QuestionEmbedder.Embed(ctx, percached.Foreground, []string{q.Question})
		if err != nil {
			return nil, nil, err
		}
		a := askedOnce{Record: answer.Record{Question: q.Question}}
		a.hits, err = s.Index.Search(ctx, retrieval.Query{Space: q.Space, Text: q.Question, Vector: vectors[0], K: idle.Ranks})
		if err != nil {
			return nil, nil, err
		}
		for _, h := range a.hits[:min(k, len(a.hits))] {
			a.Chunks = append(a.Chunks, h.Chunk)
		}
		if questions[q.Space] == nil {
			names = append(names, q.Space)
		}
		questions[q.Space] = append(questions[q.Space], a)
	}
}

// newestFirst lists the chunks of a space.
func newestFirst(s *node.Node, space string) ([]percached.ChunkID, error) {
	var docs []percached.Document
	for after := (percached.DocumentID{}); ; after = docs[len(docs)-1].ID {
		const some = 256
		page, err := s.Knowledge.Documents(space, after, some)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		docs = append(docs, page...)
	}
	slices.SortFunc(docs, func(a, b percached.Document) int {
		return cmp.Or(b.Date.Compare(a.Date), b.Added.Compare(a.Added), bytes.Compare(a.ID[:], b.ID[:]))
	})
	var chunks []percached.ChunkID
	seen := map[percached.ChunkID]bool{}
	for i := range docs {
		for _, c := range docs[i].Chunks {
			if !seen[c] {
				seen[c] = true
				chunks = append(chunks, c)
			}
		}
	}
	return chunks, nil
}

// retrievals counts how often chunks are retrieved.
func retrievals(by []askedOnce) map[percached.ChunkID]float64 {
	n := map[percached.ChunkID]float64{}
	for i := range by {
		for _, c := range by[i].Chunks {
			n[c]++
		}
	}
	return n
}

// expected is percached's estimate.
func expected(past []askedOnce) map[percached.ChunkID]float64 {
	records := make([]answer.Record, len(past))
	found := map[string][]retrieval.Hit{}
	for i := range past {
		records[i] = past[i].Record
		found[past[i].Question] = past[i].hits
	}
	w := idle.NewWorth(records)
	for _, q := range w.Latest {
		w.Found(found[q])
	}
	return w.Of
}

// count counts, for each question, which of its chunks each rule has stored.
func (r *aheadReport) count(chunks []percached.ChunkID, questions []askedOnce) {
	for i := range questions {
		r.Questions++
		r.Retrieved += len(questions[i].Chunks)
		for j := range r.Rules {
			rule := &r.Rules[j]
			worth := rule.worth(questions[:i], questions[i:])
			ranked := slices.Clone(chunks)
			slices.SortStableFunc(ranked, func(a, b percached.ChunkID) int { return cmp.Compare(worth[b], worth[a]) })
			for b, percent := range aheadBudgets {
				stored := ranked[:max(1, len(chunks)*percent/100)]
				for _, c := range questions[i].Chunks {
					if slices.Contains(stored, c) {
						rule.stored[b]++
					}
				}
			}
		}
	}
}

func (r *aheadReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("%d questions over %d chunks in %d spaces; share of %d retrieved chunks that were stored", r.Questions, r.Chunks, r.Spaces, r.Retrieved)
	p.Line("%-22s %8s %8s %8s", "budget", "5 %", "20 %", "50 %")
	for i := range r.Rules {
		s := r.Rules[i].Shares
		p.Line("%-22s %7.1f%% %7.1f%% %7.1f%%", r.Rules[i].Name, 100*s[0], 100*s[1], 100*s[2])
	}
	return p.Err
}
