package node

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/llm/openai"
	"github.com/percached/percached/llm/openai/openaitest"
	"github.com/percached/percached/models"
)

// The engine of a server keeps its contract on one that computes with the built-in model, and
// keeps prefixes.
func TestServerConformance(t *testing.T) {
	c := llamacpp.Default()
	var err error
	if c.Model, err = models.Nano(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	c.Context, c.Threads = 2048, 1
	engine, err := llamacpp.OpenEngine(context.Background(), c, llamacpp.NewGate())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&openaitest.Server{Engine: engine, Model: "nano"})
	t.Cleanup(func() { server.Close(); _ = engine.Close() })
	o := openai.Default()
	o.URL, o.Queue = server.URL, 4
	o.Context = 1024 // the built-in model has a small vocabulary, so more tokens than estimated
	llmtest.RunEngine(t, llmtest.Engines{
		Open: func() (llm.Engine, error) {
			e, err := openai.Open(context.Background(), o)
			if err != nil {
				return nil, err
			}
			if i := e.Info(); i.Name != "nano" || !i.PrefixCache {
				t.Errorf("the model is %q, with a prefix cache: %v", i.Name, i.PrefixCache)
			}
			return e, nil
		},
		Special: "<|percached:system|>",
		Queue:   o.Queue,
	})
}
