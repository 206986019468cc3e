package llamacpp

import (
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/llmtest"
)

// A text is cut where the model's own context ends, or earlier if somebody says so.
func TestEmbedderReadsItsContext(t *testing.T) {
	for _, tt := range []struct {
		trained, context, want int
	}{
		{512, DefaultEmbedder().Context, 512},
		{1024, DefaultEmbedder().Context, 1024},
		{4096, DefaultEmbedder().Context, 2048},
		{1024, 600, 600},
	} {
		path := randomModel(t, gguf.RandomOptions{Shape: "tiny", Architecture: "bert", Seed: 1, Context: tt.trained})
		e, err := openEmbedder(t, path, func(c *Config) { c.Context = tt.context })
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Info().MaxTokens; got != tt.want {
			t.Errorf("trained for %d, asked for %d: %d tokens are read", tt.trained, tt.context, got)
		}
		word, err := e.model.vocab.append(nil, percached.Text{Text: "a"})
		if err != nil || len(word) != 1 {
			t.Fatal(word, err)
		}
		n := tt.want - len(e.before) - len(e.after)
		full := strings.Repeat("a ", n-1)
		v, err := e.Embed(t.Context(), percached.Foreground, []string{full + "a", full + "b", full + "a b"})
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(v[0], v[1]) {
			t.Errorf("token %d is not read", tt.want)
		}
		if !slices.Equal(v[0], v[2]) {
			t.Errorf("what stands behind %d tokens is read", tt.want)
		}
	}
}

// Vectors that were stored stay good: what names them is what it was before texts
// had prefixes and could be longer.
func TestFingerprintOfAnEncoderStays(t *testing.T) {
	c := DefaultEmbedder()
	c.Model, c.Threads = llmtest.RealModel(t, llmtest.MiniLM), 1
	e, err := OpenEmbedder(t.Context(), c, NewGate())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if want := fingerprint(e.model.hash, engineVersion, "mean", 512); e.Info().Fingerprint != want {
		t.Errorf("%s, want %s", e.Info().Fingerprint, want)
	}
}
