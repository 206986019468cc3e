package llamacpp

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/llmtest"
)

// The threshold lies on the encoder's own scale, whatever that is.
func TestThresholdOf(t *testing.T) {
	for _, tt := range []struct {
		likeness float64
		want     float32
	}{{0, 0.83}, {0.1, 0.847}, {0.5, 0.915}, {0.76, 0.959}, {0.9, 0.983}, {1, 1}, {-0.2, 0.83}} {
		// Two of three vectors stand at right angles to each other but for what they
		// share with a third direction.
		a := []float32{float32(math.Sqrt(max(tt.likeness, 0))), float32(math.Sqrt(1 - max(tt.likeness, 0))), 0}
		b := []float32{a[0], 0, a[1]}
		if tt.likeness < 0 {
			a, b = []float32{1, 0}, []float32{float32(tt.likeness), float32(math.Sqrt(1 - tt.likeness*tt.likeness))}
		}
		if got := thresholdOf([][]float32{a, b}); got != tt.want {
			t.Errorf("unrelated questions at %v: %v, want %v", tt.likeness, got, tt.want)
		}
	}
}

func TestThresholdIsMeasured(t *testing.T) {
	path := filepath.Join(t.TempDir(), llmtest.MiniLM) // nothing is kept beside it
	if err := os.Symlink(llmtest.RealModel(t, llmtest.MiniLM), path); err != nil {
		t.Fatal(err)
	}
	e, err := openEmbedder(t, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := e.Threshold(); !ok || math.Abs(float64(at)-0.851) > 0.003 {
		t.Errorf("%v, %v", at, ok)
	}
}

// What was measured is kept beside the model, for the prefixes that it was measured
// with; a file that says something else is not believed.
func TestThresholdIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := gguf.WriteRandom(path, gguf.RandomOptions{Shape: "tiny", Architecture: "bert", Seed: 1}); err != nil {
		t.Fatal(err)
	}
	threshold := func(prefix string) float32 {
		t.Helper()
		e, err := openEmbedder(t, path, func(c *Config) { c.QueryPrefix = &prefix })
		if err != nil {
			t.Fatal(err)
		}
		at, ok := e.Threshold()
		if !ok || at <= 0 || at > 1 {
			t.Fatal(at, ok)
		}
		return at
	}
	measured := threshold("")
	kept := path + ".percached-threshold"
	b, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	of, _, _ := strings.Cut(string(b), " ")
	for text, want := range map[string]float32{
		of + " 0.5\n": 0.5, of + " 0": measured, of + " 2": measured, of + " NaN": measured, of: measured, "": measured, "other 0.5": measured,
	} {
		if err := os.WriteFile(kept, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := threshold(""); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if err := os.WriteFile(kept, []byte(of+" 0.5"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := threshold("query: "); got == 0.5 {
		t.Error("the threshold of other prefixes is taken")
	}
}

// Who gives up while an encoder is opened gets none.
func TestOpenEmbedderIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := DefaultEmbedder()
	c.Model, c.Context, c.Threads = randomModel(t, gguf.RandomOptions{Shape: "tiny", Architecture: "bert", Seed: 1}), 128, 1
	if _, err := OpenEmbedder(ctx, c, NewGate()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
