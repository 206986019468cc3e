package answer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
)

// slowEmbedder takes a second for each call, and records the texts.
type slowEmbedder struct {
	mu    sync.Mutex
	calls []string
}

func (*slowEmbedder) Info() percached.EmbedderInfo { return percached.EmbedderInfo{} }

func (e *slowEmbedder) Embed(_ context.Context, p percached.Priority, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	<-time.After(time.Second)
	e.calls = append(e.calls, fmt.Sprint(texts[0], " ", len(texts)))
	if p != percached.Foreground {
		return nil, fault.New(fault.Invalid, "slow", "somebody waits for it")
	}
	return make([][]float32, len(texts)), nil
}

// Many texts of one caller do not delay another, however they are sent.
func TestEmbedTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &slowEmbedder{}
		a, err := answer.New(answer.Parts{Embedder: e}, answer.Default())
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		embed := func(ctx context.Context, caller string, n int, kind fault.Kind) {
			all.Go(func() {
				got, err := a.Embed(ctx, caller, slices.Repeat([]string{caller}, n))
				if fault.KindOf(err) != kind || err == nil && len(got) != n {
					t.Errorf("%s: %d vectors of %d: %v", caller, len(got), n, err)
				}
			})
			synctest.Wait()
		}
		embed(t.Context(), "flood", 20, 0)
		for range 3 {
			embed(t.Context(), "flood", 1, 0)
		}
		gone, leave := context.WithCancel(t.Context())
		embed(gone, "gone", 1, fault.Timeout)
		embed(t.Context(), "other", 1, 0)
		leave()
		all.Wait()
		want := []string{"flood 8", "other 1", "flood 1", "flood 1", "flood 1", "flood 8", "flood 4"}
		if diff := cmp.Diff(want, e.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if got, err := a.Embed(t.Context(), "", nil); len(got) > 0 || err != nil {
			t.Errorf("%d vectors of nothing: %v", len(got), err)
		}
	})
}
