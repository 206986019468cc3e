package llamacpp

import (
	"math"

	"github.com/percached/percached/llm/gguf"
)

// Demand is what a model needs, as far as its file says.
type Demand struct {
	Weights    int64 // bytes
	TokenBytes int64 // keys and values of one token of the context
	Scratch    int64 // bytes of buffers
	Parameters int64
	MaxContext int // tokens that the model was trained for
	// SameContext is the longest context in which the model turns positions as in a short one; 0:
	// all. Another turn makes other tensors.
	SameContext int
	GPU         bool // a GPU computes layers
	Writes      bool // it is no embedding model
}

// DemandOf reads what the model of a configuration needs. It loads nothing.
func DemandOf(c Config) (Demand, error) {
	f, err := gguf.Open(c.Model)
	if err != nil {
		return Demand{}, err
	}
	trained, _ := f.Uint(f.Key("context_length"))
	d := Demand{Weights: f.Size(), MaxContext: int(min(trained, math.MaxInt32)), GPU: c.onGPU()}
	causal, ok := f.Bool(f.Key("attention.causal"))
	d.Writes = !ok || causal
	c.Context = 1
	d.TokenBytes, d.Scratch = contextBytes(f, c)
	for _, t := range f.Tensors() {
		d.Parameters += int64(t.Elements())
	}
	if n, _ := f.Uint(f.Key("rope.scaling.original_context_length")); n > 0 && n < trained && !longRope(f, int(n)) && longRope(f, int(n)+1) {
		d.SameContext = int(n)
	}
	return d, nil
}
