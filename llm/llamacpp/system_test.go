//go:build system_llama

package llamacpp

import (
	"strings"
	"testing"

	"github.com/percached/percached/llm/gguf"
)

// bundled: the llama.cpp of the module is linked, not an installed one.
const bundled = false

// lfm2Norm is how llama.cpp calls the last norm of LFM2 models.
const lfm2Norm = "token_embd_norm.weight"

// The library is usable and says so; a slice's fingerprint names its version, its files
// and how the layers are split, so that no other build takes it.
func TestSystemLibrary(t *testing.T) {
	if err := usableLibrary(); err != nil {
		t.Fatal(err)
	}
	if l := Library(); !strings.Contains(l, "installed, ") || !strings.Contains(l, "devices: ") {
		t.Error(l)
	}
	v := engineVersion(0)
	for _, part := range []string{"llama.cpp ", "ggml ", "libllama", "libggml-base", "libggml-cpu"} {
		if !strings.Contains(v, part) {
			t.Errorf("%q is not in %q", part, v)
		}
	}
	if engineVersion(1) == v {
		t.Error("layers on a GPU change no fingerprint")
	}
	if strings.Contains(v, "ollama") {
		t.Error("the version is the bundled one's: ", v)
	}
}

// States of later versions begin with a lead, and no piece of a model with a window is
// longer than the window.
func TestSystemStates(t *testing.T) {
	e := open(t, gguf.RandomOptions{Shape: "tiny", Architecture: "gemma3", Seed: 2}, func(c *Config) { c.piece = 64 << 20 })
	l, window := e.cache.layout, e.info.Window
	if l == nil || l.window == nil || window == 0 {
		t.Fatalf("no layers of a window: %s", e.info.NoSlices)
	}
	if l.lead != 0 && e.cache.pieceTokens != window {
		t.Errorf("pieces of %d tokens, a window of %d", e.cache.pieceTokens, window)
	}
}
