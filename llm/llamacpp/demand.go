package llamacpp

import (
	"math"
	"strings"

	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/llm/gguf"
)

// Demand is what a model needs, as far as its file says.
type Demand struct {
	Weights    int64 // bytes
	TokenBytes int64 // keys and values of one token of the context
	Scratch    int64 // bytes of buffers
	// Experts are where the file has the experts of a mixture, and ExpertBytes their size. Of these,
	// WorkingBytes must stay in memory: the rest is read from the file when it is used.
	Experts      []machine.Part
	ExpertBytes  int64
	WorkingBytes int64
	Parameters   int64
	MaxContext   int // tokens that the model was trained for
	// SameContext is the longest context in which the model turns positions as in a short one; 0:
	// all. Another turn makes other tensors.
	SameContext int
	GPU         bool  // a GPU computes layers
	GPUWeights  int64 // bytes of the weights of these layers
	Writes      bool  // it is no embedding model
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
	d.GPUWeights = gpuWeights(f, c.GPULayers, gpus(), d.Scratch)
	d.Experts = expertParts(f)
	d.ExpertBytes, d.WorkingBytes = expertBytes(f)
	for _, t := range f.Tensors() {
		d.Parameters += int64(t.Elements())
	}
	if n, _ := f.Uint(f.Key("rope.scaling.original_context_length")); n > 0 && n < trained && !longRope(f, int(n)) && longRope(f, int(n)+1) {
		d.SameContext = int(n)
	}
	return d, nil
}

// gpuWeights are the weights of the layers that would be moved to a GPU, also to one that shares
// the CPU's memory: there they are no page cache either.
func gpuWeights(f *gguf.File, wanted int, devices []gpu, scratch int64) (sum int64) {
	p, err := place(f, wanted, devices, 0, scratch)
	if err != nil || p.layers < 0 {
		return 0
	}
	for _, size := range layerSizes(f, 0)[:p.layers] {
		sum += size
	}
	return min(sum, f.Size()) // the output may use a copy of the embeddings
}

// expertParts are where a file has its experts. Experts that every token uses are not among them.
func expertParts(f *gguf.File) []machine.Part {
	var parts []machine.Part
	for _, t := range f.Tensors() {
		if strings.HasSuffix(t.Name, "_exps.weight") {
			parts = append(parts, machine.Part{Offset: t.Offset, Size: t.Size})
		}
	}
	return parts
}

// expertBytes is the size of the experts, and how much of it must stay in memory: what two tokens
// use, because the next token uses other experts, and one layer, because a batch of a prompt uses
// nearly all of it.
func expertBytes(f *gguf.File) (all, working int64) {
	for _, p := range expertParts(f) {
		all += p.Size
	}
	count, _ := f.Uint(f.Key("expert_count"))
	used, _ := f.Uint(f.Key("expert_used_count"))
	layers, _ := f.Uint(f.Key("block_count"))
	if count == 0 || used == 0 || layers == 0 {
		return all, all
	}
	share := 2*float64(used)/float64(count) + 1/float64(layers)
	return all, int64(float64(all) * min(1, share))
}
