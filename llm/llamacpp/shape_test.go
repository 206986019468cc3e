package llamacpp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/llm/gguf"
)

// An engine tells the measures that its model was made with.
func TestShape(t *testing.T) {
	for arch, head := range map[string]int{"llama": 32, "qwen2": 32, "qwen3": 32} {
		m := open(t, gguf.RandomOptions{Shape: "tiny", Architecture: arch, Seed: 1}, nil).Info()
		type measures struct{ Layers, Width, Heads, HeadsKV, HeadSize, FeedForward, Vocabulary int }
		got := measures{m.Layers, m.Width, m.Heads, m.HeadsKV, m.HeadSize, m.FeedForward, m.Vocabulary}
		if d := cmp.Diff(measures{4, 128, 4, 2, head, 256, 1024}, got); d != "" {
			t.Errorf("%s:\n%s", arch, d)
		}
		if kv := 4 * 2 * 2 * head * 2; m.BytesPerToken < kv || m.BytesPerToken > kv+64 { // keys and values of f16, and a little about them
			t.Errorf("%s: %d bytes per token, want %d and a little", arch, m.BytesPerToken, kv)
		}
	}
}

// Where layers differ, it is their mean; of a mixture, what a token goes through.
func TestFeedForward(t *testing.T) {
	for name, tc := range map[string]struct {
		set  map[string]any
		want int
	}{
		"one number": {nil, 256},
		"by layer":   {map[string]any{"llama.feed_forward_length": []int32{100, 200, 300, 500}}, 275},
		"a mixture":  {map[string]any{"llama.expert_count": uint32(8), "llama.expert_used_count": uint32(2)}, 512},
		"a mixture of its own": {map[string]any{
			"llama.expert_count": uint32(8), "llama.expert_used_count": uint32(2), "llama.expert_feed_forward_length": uint32(64),
		}, 128},
		"none": {map[string]any{"llama.feed_forward_length": nil}, 0},
	} {
		f, err := gguf.Open(remade(t, tiny, tc.set, nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := feedForward(f); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
