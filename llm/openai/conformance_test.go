package openai_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/llm/openai"
	"github.com/percached/percached/llm/openai/openaitest"
)

func TestEmbedderConformance(t *testing.T) {
	o := llmtest.DefaultEmbedOptions()
	server := httptest.NewServer(&openaitest.Server{Embedder: llmtest.NewFakeEmbedder(o), Model: "fake"})
	t.Cleanup(server.Close)
	c := openai.EmbedderConfig{Config: openai.Default()}
	c.URL, c.Model = server.URL, "fake"
	llmtest.RunEmbedder(t, llmtest.Embedders{
		Open: func() (llm.Embedder, error) { return openai.OpenEmbedder(context.Background(), c) },
	})
}

func TestConformance(t *testing.T) {
	o := llmtest.DefaultOptions()
	o.Context = 1024
	engine := llmtest.NewFake(o)
	server := httptest.NewServer(&openaitest.Server{Engine: engine, Model: "fake", Key: "secret"})
	t.Cleanup(server.Close)
	c := openai.Default()
	c.URL, c.Model, c.Key, c.Queue = server.URL+"/v1", "fake", "secret", 4
	llmtest.RunEngine(t, llmtest.Engines{
		Open:    func() (llm.Engine, error) { return openai.Open(context.Background(), c) },
		Special: "<|percached:user|>",
		Queue:   c.Queue,
	})
}
