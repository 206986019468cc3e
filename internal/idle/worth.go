package idle

import (
	"cmp"
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/retrieval"
)

const (
	asked  = 200 // latest questions that say which chunks are retrieved most
	nearby = 32  // of them, the latest, for which it is looked what was nearly retrieved
	ranks  = 40  // how far
)

// candidate is a chunk that may be read ahead.
type candidate struct {
	id    percached.ChunkID
	doc   percached.Document
	worth float64
}

// bare gives the chunks of a space that are not stored right behind the instructions.
func (w *Worker) bare(ctx context.Context, space string, r rules) (found []candidate, err error) {
	model := w.Engine.Info().Fingerprint
	seen := map[percached.ChunkID]bool{}
	w.Tree.Nodes(space, func(n qkvtree.Info) {
		if n.Model == model && n.Placement == r.Placement && n.Depth == 1 {
			seen[n.Chunk] = true
		}
	})
	err = w.documents(ctx, space, func(d percached.Document) {
		for _, c := range d.Chunks {
			if !seen[c] {
				seen[c] = true
				found = append(found, candidate{id: c, doc: d})
			}
		}
	})
	return found, err
}

// rank puts the likeliest to be retrieved first, and then the newest.
func (w *Worker) rank(ctx context.Context, space string, chunks []candidate) error {
	worth, err := w.worth(ctx, space)
	if err != nil {
		return err
	}
	for i := range chunks {
		chunks[i].worth = worth[chunks[i].id]
	}
	slices.SortFunc(chunks, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.worth, a.worth), b.doc.Date.Compare(a.doc.Date), b.doc.Added.Compare(a.doc.Added), slices.Compare(a.id[:], b.id[:]))
	})
	return nil
}

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
