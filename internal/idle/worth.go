package idle

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"

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

// latestVectors keeps the vectors of the latest questions of each space while the process runs,
// because the same ones count again and again. It keeps no text.
type latestVectors struct {
	mu sync.Mutex
	of map[string]map[[sha256.Size]byte][]float32 // by space and text
}

// forget drops the vectors of spaces.
func (l *latestVectors) forget(gone func(space string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.of, func(space string, _ map[[sha256.Size]byte][]float32) bool { return gone(space) })
}

// embed returns the vectors of the latest questions of a space.
func (l *latestVectors) embed(ctx context.Context, e embedder, space string, texts []string) ([][]float32, error) {
	l.mu.Lock()
	known := l.of[space]
	l.mu.Unlock()
	var unknown []string
	for _, t := range texts {
		if known[sha256.Sum256([]byte(t))] == nil {
			unknown = append(unknown, t)
		}
	}
	var computed [][]float32
	if len(unknown) > 0 {
		var err error
		if computed, err = e.Embed(ctx, percached.Background, unknown); err != nil {
			return nil, err
		}
	}
	now, out := map[[sha256.Size]byte][]float32{}, make([][]float32, len(texts))
	for i, t := range texts {
		sum := sha256.Sum256([]byte(t))
		v := known[sum]
		if v == nil {
			v, computed = computed[0], computed[1:]
		}
		now[sum], out[i] = v, v
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string]map[[sha256.Size]byte][]float32{}
	}
	l.of[space] = now
	return out, nil
}
