package idle

import (
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/retrieval"
)

const (
	asked  = 200 // latest questions that show which chunks are retrieved most
	nearby = 32  // latest questions whose search results count beyond the retrieved chunks
	// Ranks is how many of these results count.
	Ranks = 40
)

// Worth is how likely the next questions are to retrieve each chunk, without a unit. Each
// past retrieval counts. For the latest questions, the rank in the search counts too,
// because the next questions are about similar things.
type Worth struct {
	Of     map[percached.ChunkID]float64
	Latest []string // questions whose search results are still to be counted with Found
}

// NewWorth counts the retrievals of past questions, oldest first.
func NewWorth(past []answer.Record) *Worth {
	past = past[max(0, len(past)-asked):]
	w := &Worth{Of: map[percached.ChunkID]float64{}}
	for _, r := range past {
		for _, c := range r.Chunks {
			w.Of[c]++
		}
	}
	for _, r := range past[max(0, len(past)-nearby):] {
		if !slices.Contains(w.Latest, r.Question) {
			w.Latest = append(w.Latest, r.Question)
		}
	}
	return w
}

// Found counts the search results of one of the latest questions.
func (w *Worth) Found(hits []retrieval.Hit) {
	for rank, h := range hits {
		w.Of[h.Chunk] += 1 / float64(1+rank)
	}
}
