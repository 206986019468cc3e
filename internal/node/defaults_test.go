package node

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/budget"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/retrieval"
)

// internal/config knows no layer and repeats their defaults. They are the same.
func TestDefaultsAgree(t *testing.T) {
	c := config.Default()
	zones := cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() })
	want, got := idle.Default(), IdleConfig(c)
	if d := cmp.Diff(want, got, zones); d != "" {
		t.Errorf("idle work (-layer +config):\n%s", d)
	}
	set := answer.Default()
	for _, tc := range []struct {
		name        string
		layer, here any
	}{
		{"k", set.K, c.K},
		{"order", set.Order, percached.Order(c.Order)},
		{"guard", set.Guard, c.Guard},
		{"max-tokens", set.MaxTokens, c.MaxTokens},
		{"fusion", retrieval.Default().Fusion, retrieval.Fusion(c.Fusion)},
		{"bank-limit", qabank.Default().Limit, c.BankLimit},
		{"context", llamacpp.Default().Context, budget.UsualContext},
		{"embed-context", llamacpp.DefaultEmbedder().Context, c.EmbedContext},
		{"gpu-layers", llamacpp.AllThatFit, c.GPULayers},
	} {
		if d := cmp.Diff(tc.layer, tc.here); d != "" {
			t.Errorf("%s (-layer +config):\n%s", tc.name, d)
		}
	}
}
