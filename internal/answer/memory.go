package answer

import (
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/retrieval"
)

// Memory is how a question uses the facts about the user in its space.
type Memory struct {
	Facts  int // of the space; 0: facts had no part
	Needed bool
	Why    string
}

// Consulted is what a question has of the facts in its space.
type Consulted struct {
	Memory
	All  []percached.ChunkID
	Best []percached.ChunkID // that match the question, the best first
}

// consult decides which facts a question needs. If that fails, facts are documents like others.
func (a *Asker) consult(space, question string, s Settings) Consulted {
	if a.Memory == nil || !s.Memory {
		return Consulted{}
	}
	m, err := a.Memory(space, question)
	if err != nil && fault.KindOf(err) != fault.NotFound { // NotFound: the space was deleted
		a.Logger.Warn("the facts of a space cannot be read", "space", space, "kind", fault.KindOf(err), "error", err)
	}
	return m
}

// searchWith searches like search. Facts that the question does not need are left out. If
// the question needs some, the best of those that match has one of the k first places.
func (a *Asker) searchWith(ctx context.Context, space, text string, vector []float32, k, n int, m Consulted) ([]percached.Chunk, error) {
	q := retrieval.Query{Space: space, Text: text, Vector: vector, K: n + spareHits}
	if m.Facts > 0 && !m.Needed {
		q.Without = make(map[percached.ChunkID]bool, len(m.All))
		for _, id := range m.All {
			q.Without[id] = true
		}
	}
	chunks, err := a.searchQuery(ctx, q, n)
	if err != nil || len(m.Best) == 0 || !m.Needed {
		return chunks, err
	}
	matches := func(c percached.Chunk) bool { return slices.Contains(m.Best, c.ID) }
	at := slices.IndexFunc(chunks, matches)
	if at >= 0 && at < k {
		return chunks, nil
	}
	var best percached.Chunk
	if at >= 0 {
		best = chunks[at]
		chunks = slices.Delete(chunks, at, at+1)
	} else {
		found, err := a.readChunks(space, m.Best, 1)
		if err != nil || len(found) == 0 { // deleted meanwhile, or damaged: the others count
			return chunks, nil
		}
		best = found[0]
	}
	chunks = slices.Insert(chunks, min(k-1, len(chunks)), best)
	return chunks[:min(n, len(chunks))], nil
}
