package idle

import (
	"context"
	"strings"
	"unicode"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/retrieval"
)

// sameQuestion is the similarity from which two questions count as the same.
const sameQuestion = 0.97

// Check tells the predictor which questions are worth keeping.
type Check struct {
	Knowledge *knowledgebank.Bank
	Index     *retrieval.Index
	Bank      *qabank.Bank
	Embedder  embedder
	// Settings returns how many chunks an answer uses.
	Settings settings
	Floor    float64
}

// settings returns the settings of a space.
type settings interface {
	Settings(space string) (answer.Settings, error)
}

// Known reports whether the bank has the question or an almost identical one.
func (c *Check) Known(ctx context.Context, space, question string) (bool, error) {
	if there, _ := c.Bank.Has(space, qabank.NewID(space, question)); there {
		return true, nil
	}
	v, err := c.vector(ctx, question)
	if err != nil {
		return false, fault.Wrap("idle.Known", err)
	}
	return len(c.Bank.Match(space, v, c.Embedder.Info().Fingerprint, sameQuestion, 1)) > 0, nil
}

func (c *Check) vector(ctx context.Context, question string) ([]float32, error) {
	vs, err := c.Embedder.Embed(ctx, percached.Background, []string{question})
	if err != nil {
		return nil, err
	}
	return vs[0], nil
}

// Supported reports whether the documents can answer the question: its best chunk is
// similar enough, and every name and number in it occurs in one of its chunks. Follow-up
// questions and questions with relative time are not worth answering in advance.
func (c *Check) Supported(ctx context.Context, space, question string) (bool, error) {
	const op = "idle.Supported"
	if qabank.FollowUp(question) || qabank.RelativeTime(question) {
		return false, nil
	}
	v, err := c.vector(ctx, question)
	if err != nil {
		return false, fault.Wrap(op, err)
	}
	set, err := c.Settings.Settings(space)
	if err != nil {
		return false, fault.Wrap(op, err)
	}
	hits, err := c.Index.Search(ctx, retrieval.Query{Space: space, Text: question, Vector: v, K: set.K})
	if err != nil || len(hits) == 0 || hits[0].BM25 == 0 || hits[0].Cosine < c.Floor {
		return false, fault.Wrap(op, err)
	}
	ids := make([]percached.ChunkID, len(hits))
	for i, h := range hits {
		ids[i] = h.Chunk
	}
	chunks, err := c.Knowledge.Chunks(space, ids)
	if err != nil && len(chunks) == 0 {
		return false, fault.Wrap(op, err)
	}
	var text strings.Builder
	for _, ch := range chunks {
		text.WriteString(strings.ToLower(ch.Rendered()))
	}
	for _, n := range names(question) {
		if !strings.Contains(text.String(), strings.ToLower(n)) {
			return false, nil
		}
	}
	return true, nil
}

// names are the words of a question with a digit, or with a capital inside the sentence.
func names(question string) []string {
	var found []string
	for i, w := range strings.Fields(question) {
		w = strings.TrimSuffix(strings.TrimSuffix(strings.Trim(w, `.,;:?!"'()[]`), "'s"), "’s")
		if strings.ContainsFunc(w, unicode.IsDigit) || i > 0 && w != "I" && strings.ContainsFunc(w, unicode.IsUpper) {
			found = append(found, w)
		}
	}
	return found
}
