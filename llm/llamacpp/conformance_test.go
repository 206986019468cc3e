package llamacpp

import (
	"context"
	"strings"
	"testing"

	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/llmtest"
)

func TestConformance(t *testing.T) {
	for _, m := range []struct {
		gguf.RandomOptions
		special string
		flash   string
	}{
		{gguf.RandomOptions{Architecture: "llama", Tokenizer: "spm"}, "</s>", "on"},
		{gguf.RandomOptions{Architecture: "qwen2"}, "<|im_start|>", "off"},
		{gguf.RandomOptions{Architecture: "qwen3moe"}, "<|im_start|>", "on"},
		{gguf.RandomOptions{Architecture: "gemma3"}, "<start_of_turn>", "auto"},
	} {
		if testing.Short() && strings.HasPrefix(m.Architecture, "qwen") {
			continue
		}
		t.Run(m.Architecture, func(t *testing.T) {
			m.Shape, m.Seed = "tiny", 3
			c := Default()
			c.Model = randomModel(t, m.RandomOptions)
			c.Context, c.Threads, c.Split, c.Queue, c.FlashAttn = 1024, 1, 16, 4, m.flash
			c.piece = 40 << 10
			llmtest.RunEngine(t, llmtest.Engines{
				Open:    func() (llm.Engine, error) { return OpenEngine(context.Background(), c, NewGate()) },
				Special: m.special,
				Queue:   c.Queue,
			})
		})
	}
}

func TestEmbedderConformance(t *testing.T) {
	for _, o := range []gguf.RandomOptions{
		{Architecture: "bert"},
		{Architecture: "bert", Pooling: "cls"},
		{Architecture: "qwen3", Pooling: "last"},
	} {
		t.Run(o.Architecture+"-"+o.Pooling, func(t *testing.T) {
			o.Shape, o.Seed = "tiny", 3
			c := DefaultEmbedder()
			c.Model, c.Threads, c.Context = randomModel(t, o), 1, 128
			llmtest.RunEmbedder(t, llmtest.Embedders{
				Open: func() (llm.Embedder, error) { return OpenEmbedder(context.Background(), c, NewGate()) },
			})
		})
	}
}
