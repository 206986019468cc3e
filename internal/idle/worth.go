package idle

import (
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/retrieval"
)

const (
	asked  = 200 // latest questions that say which chunks are retrieved most
	nearby = 32  // of them, the latest, for which it is looked what was nearly retrieved
	ranks  = 40  // how far
)

// worth says how likely chunks are to be retrieved, going by what was asked: each
// time that one was counts, and of the latest questions its place in the search, too,
// as the next questions are about what stands near.
func (w *Worker) worth(ctx context.Context, space string) (map[percached.ChunkID]float64, error) {
	past, err := w.History.Recent(space, asked)
	if err != nil {
		return nil, err
	}
	worth := map[percached.ChunkID]float64{}
	for _, r := range past {
		for _, c := range r.Chunks {
			worth[c]++
		}
	}
	var texts []string
	for _, r := range past[max(0, len(past)-nearby):] {
		if !slices.Contains(texts, r.Question) {
			texts = append(texts, r.Question)
		}
	}
	if len(texts) == 0 {
		return worth, nil
	}
	vectors, err := w.Embedder.Embed(ctx, percached.Background, texts)
	if err != nil {
		return nil, err
	}
	for i, text := range texts {
		hits, err := w.Index.Search(ctx, retrieval.Query{Space: space, Text: text, Vector: vectors[i], K: ranks})
		if err != nil {
			return nil, err
		}
		for rank, h := range hits {
			worth[h.Chunk] += 1 / float64(1+rank)
		}
	}
	return worth, nil
}
