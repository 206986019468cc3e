package llmtest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/percached/percached/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fakes(change func(*Options)) Engines {
	return Engines{
		Open: func() (llm.Engine, error) {
			o := DefaultOptions()
			o.Context, o.Queue = 1024, 4
			if change != nil {
				change(&o)
			}
			return NewFake(o), nil
		},
		Special: "<|im_end|>", Queue: 4,
	}
}

func TestFake(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"default":        nil,
		"no begin token": func(o *Options) { o.Begin = false },
		"one by one":     func(o *Options) { o.Split, o.PieceTokens = 1, 1 },
		"big steps":      func(o *Options) { o.Split, o.PieceTokens = 512, 512 },
		"no slices":      func(o *Options) { o.NoSlices = "sliding window" },
	} {
		t.Run(name, func(t *testing.T) { RunEngine(t, fakes(change)) })
	}
}

func TestFakeEmbedder(t *testing.T) {
	RunEmbedder(t, Embedders{Open: func() (llm.Embedder, error) { return NewFakeEmbedder(DefaultEmbedOptions()), nil }})
}
