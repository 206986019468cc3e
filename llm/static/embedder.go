package static

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

const opEmbed = "static: embed"

// Embedder turns texts into vectors with a table of word vectors. See llm.Embedder.
type Embedder struct {
	info      percached.EmbedderInfo
	threshold *float32

	closed atomic.Bool
	mu     sync.RWMutex // read-locked during every call
	words  *vocabulary
	rows   *table
}

var _ llm.Embedder = (*Embedder)(nil)

// Info describes the table. Texts are truncated after MaxTokens rows.
func (e *Embedder) Info() percached.EmbedderInfo { return e.info }

// Threshold is the similarity from which two questions may count as the same, as measured
// for this table; ok is false if the table contains none.
func (e *Embedder) Threshold() (value float32, ok bool) {
	if e.threshold == nil {
		return 0, false
	}
	return *e.threshold, true
}

// Embed computes the vectors of texts, each of length 1. It truncates texts after
// MaxTokens rows.
func (e *Embedder) Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error) {
	if p > percached.Background {
		return nil, fault.New(fault.Invalid, opEmbed, "unknown priority %d", p)
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	out := make([][]float32, 0, len(texts))
	rows := make([]int32, 0, min(e.info.MaxTokens, 256))
	for i := 0; ; i++ {
		switch {
		case e.closed.Load():
			return nil, llm.ErrClosed
		case ctx.Err() != nil:
			return nil, fault.New(fault.Timeout, opEmbed, "%w", context.Cause(ctx))
		case i == len(texts):
			return out, nil
		}
		rows = e.words.tokenize(rows[:0], texts[i], e.info.MaxTokens)
		out = append(out, e.vector(rows))
		if p == percached.Background {
			runtime.Gosched()
		}
	}
}

// vector is the normalised sum of the rows.
func (e *Embedder) vector(rows []int32) []float32 {
	v := make([]float32, e.info.Dimensions)
	for _, r := range rows {
		e.rows.add(v, int(r))
	}
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		v[0] = 1
		return v
	}
	norm := math.Sqrt(sum)
	for i := range v {
		v[i] = float32(float64(v[i]) / norm)
	}
	return v
}

// Close ends running work, waits for it, and releases the table.
func (e *Embedder) Close() error {
	e.closed.Store(true)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.words, e.rows = nil, nil
	return nil
}
