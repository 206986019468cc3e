package retrieval

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// busyEmbedder gets questions until some time. Texts behind them wait or, if it
// preempts, are interrupted again and again.
type busyEmbedder struct {
	wordsEmbedder
	until    time.Time
	preempts bool
	calls    []string // that were answered
}

func (e *busyEmbedder) Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error) {
	name := "beside"
	if p == percached.Background {
		name = "behind"
		wait := time.Until(e.until)
		if e.preempts {
			wait = min(wait, 10*time.Millisecond)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, fault.Wrap("busy", ctx.Err())
		}
		if time.Now().Before(e.until) {
			return nil, fault.Wrap("busy", percached.ErrPreempted)
		}
	}
	e.calls = append(e.calls, fmt.Sprint(name, " ", len(texts)))
	return e.wordsEmbedder.Embed(ctx, p, texts)
}

// New documents let questions go first, but not forever: endless questions delay the
// few texts of a mail shortly, and many texts make progress. Idle work waits.
func TestPatience(t *testing.T) {
	for _, tt := range []struct {
		name     string
		texts    int
		patience time.Duration
		busy     time.Duration
		want     []string
		took     time.Duration
	}{
		{"nobody asks", 70, patience, 0, []string{"behind 64", "behind 6"}, 0},
		{"a question", 70, patience, patience / 2, []string{"behind 64", "behind 6"}, patience / 2},
		{"a flood, and a mail", 2, patience, time.Hour, []string{"beside 2"}, patience},
		{"a flood, and many", 20, patience, time.Hour, []string{"beside 8", "beside 8", "beside 4"}, 7 * patience},
		{"a flood that ends", 80, patience, 2 * patience, []string{"beside 8", "behind 64", "behind 8"}, 2 * patience},
		{"idle work", 2, 0, time.Hour, []string{"behind 2"}, time.Hour},
	} {
		for _, preempts := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, ", preempts: ", preempts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					e := &busyEmbedder{wordsEmbedder: wordsEmbedder{name: "one", dim: 8}, until: began.Add(tt.busy), preempts: preempts}
					x := &Index{o: Options{Embedder: e}}
					texts := slices.Repeat([]string{"a mail"}, tt.texts)
					rows, err := x.embed(t.Context(), texts, 8, tt.patience)
					if err != nil || len(rows) != tt.texts {
						t.Fatalf("%d vectors: %v", len(rows), err)
					}
					if diff := cmp.Diff(tt.want, e.calls); diff != "" {
						t.Errorf("calls (-want +got):\n%s", diff)
					}
					if took := time.Since(began); took != tt.took {
						t.Errorf("it took %v, want %v", took, tt.took)
					}
				})
			})
		}
	}
}
