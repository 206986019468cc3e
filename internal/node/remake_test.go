package node

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/budget"
	"github.com/percached/percached/internal/supervise"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/llmtest"
)

// If the memory does not hold the context that was chosen, the engine opens with a shorter one:
// the service never stays without a model that fits.
func TestRemakeTriesShorter(t *testing.T) {
	const most = 1024
	for _, tc := range []struct {
		name      string
		now, next int
		tries     []int
		closed    bool // it opens with no context
	}{
		{"shorter", 4096, 3072, []int{3072, 2048, most}, false},
		{"longer", most, 4096, []int{4096, most}, false},
		{"it fits", 2048, most, []int{most}, false},
		{"nothing fits", 8192, 3072, []int{3072, 2048, 1024}, true},
	} {
		n := &Node{}
		n.setContext(budget.Context{Tokens: tc.now})
		opened := false
		var tries []int
		e, err := supervise.Open(t.Context(), supervise.Limit{}, time.Now, func(_, _ error) {}, func(context.Context) (llm.Engine, error) {
			if opened {
				tries = append(tries, n.contextLength())
				if n.contextLength() > most || tc.closed {
					return nil, fault.New(fault.Unavailable, "test", "the memory does not hold it")
				}
			}
			opened = true
			return llmtest.NewFake(llmtest.DefaultOptions()), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		tokens, tried, err := n.remake(t.Context(), e, budget.Context{Tokens: tc.now}, budget.Context{Tokens: tc.next, Bytes: int64(tc.next) * 10})
		if tokens != tries[len(tries)-1] || tokens != n.contextLength() || !tried || (err == nil) != (len(tries) == 1) {
			t.Errorf("%s: %d tokens, %d in the budget, %v", tc.name, tokens, n.contextLength(), err)
		}
		if d := cmp.Diff(tc.tries, tries); d != "" {
			t.Errorf("%s: %s", tc.name, d)
		}
		if _, err := e.Prefill(t.Context(), percached.Prompt{}); (fault.KindOf(err) == fault.Unavailable) != tc.closed {
			t.Errorf("%s: a request then: %v", tc.name, err)
		}
		if got := n.budget.context.Bytes; got != int64(tokens)*10 {
			t.Errorf("%s: %d bytes", tc.name, got)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
