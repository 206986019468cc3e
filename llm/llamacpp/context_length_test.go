package llamacpp

import (
	"fmt"
	"testing"

	"github.com/percached/percached/llm/gguf"
)

// Tensors stored under one length of the context serve under every other, bit for bit, so a
// changed length throws nothing away.
func TestSlicesSurviveAnotherContext(t *testing.T) {
	o := gguf.RandomOptions{Shape: "tiny", Architecture: "llama", Seed: 7, Type: "f16"}
	open := func(length int) *Engine { return open(t, o, func(c *Config) { c.Context = length }) }
	long := open(1024)
	r := newNumbers(5)
	for _, place := range placements(long) {
		p := r.prompt(place, 20, 64, 100, 33, 9)
		cold := generate(t, long, capturing(p))
		for _, length := range []int{256, 512, 768} {
			other := open(length)
			if other.Info().Context != length || other.Info().Fingerprint != long.Info().Fingerprint {
				t.Fatalf("a context of %d tokens has %d and the fingerprint %s, not %s", length, other.Info().Context, other.Info().Fingerprint, long.Info().Fingerprint)
			}
			what := fmt.Sprintf("%v, %d tokens", place, length)
			equal(t, what+", cold", cold, generate(t, other, p))
			warm := generate(t, other, with(p, cold.Slices, 0b1111))
			equal(t, what+", warm", cold, warm)
			if warm.Usage.Reused != 217 {
				t.Errorf("%s: reused %d tokens", what, warm.Usage.Reused)
			}
		}
	}
}

// What is read from a file is what the engine then takes.
func TestDemandOf(t *testing.T) {
	e := open(t, gguf.RandomOptions{Shape: "tiny", Seed: 7, Type: "f16"}, func(c *Config) {})
	d, err := DemandOf(e.config)
	if err != nil {
		t.Fatal(err)
	}
	info := e.Info()
	state := int64(info.BytesPerToken) // with what a slice says of each token
	if d.TokenBytes > state || d.TokenBytes < state*9/10 || d.Parameters != int64(info.Parameters) || d.MaxContext != info.TrainContext || !d.Writes {
		t.Errorf("%+v does not agree with %d bytes a token, %d parameters and %d tokens", d, info.BytesPerToken, info.Parameters, info.TrainContext)
	}
	if d.Weights < int64(info.WeightBytes) || d.Scratch <= 0 {
		t.Errorf("%+v: less than %d bytes of weights, or no scratch memory", d, info.WeightBytes)
	}
}
