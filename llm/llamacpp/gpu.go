package llamacpp

import (
	"math"
	"strconv"
	"strings"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/gguf"
)

// AllThatFit is the number of layers on a GPU that lets the engine choose.
const AllThatFit = -1

// A gpu is a device of llama.cpp, with what is free of its memory.
type gpu struct {
	name     string // with what it is
	computes bool   // it is a GPU
	shared   bool   // its memory is the CPU's
	room     int64
}

// chooseGPUs picks as llama.cpp does: those that share the CPU's memory only where
// there are no others.
func chooseGPUs(all []gpu) []gpu {
	var own, shared []gpu
	for _, d := range all {
		switch {
		case d.computes && d.shared:
			shared = append(shared, d)
		case d.computes:
			own = append(own, d)
		}
	}
	if len(own) > 0 {
		return own
	}
	return shared
}

// gpuReserve is left free on each GPU: llama.cpp's scratch there is more than what can
// be read off the file, and other programs want some too.
const gpuReserve = 512 << 20

// A placing says where a model goes.
type placing struct {
	layers int   // as llama.cpp counts them; AllThatFit: left to it, as there is no GPU
	away   int64 // bytes of the weights and the context that take none of the CPU's memory
}

// place decides where the layers go; kv and scratch are what the context takes.
func place(f *gguf.File, wanted int, devices []gpu, kv, scratch int64) (placing, error) {
	switch {
	case len(devices) == 0 && wanted > 0:
		return placing{}, fault.New(fault.Unsupported, "llamacpp: open model", "gpu-layers is %d, but %s", wanted, noGPU())
	case len(devices) == 0:
		return placing{layers: AllThatFit}, nil
	case wanted == 0:
		return placing{}, nil
	}
	sizes := layerSizes(f, kv)
	n, room := len(sizes), int64(math.MaxInt64)
	if wanted > 0 {
		n = min(n, wanted)
	} else {
		room = -scratch
		for _, d := range devices {
			room += max(0, d.room-gpuReserve)
		}
	}
	p := placing{}
	for ; p.layers < n && sizes[p.layers] <= room; p.layers++ {
		room -= sizes[p.layers]
		if !devices[0].shared {
			p.away += sizes[p.layers]
		}
	}
	return p, nil
}

// layerSizes are what the layers take in the order in which llama.cpp moves them to a
// GPU: the output first, then from the last one down. Token embeddings stay behind.
func layerSizes(f *gguf.File, kv int64) []int64 {
	count, _ := f.Uint(f.Key("block_count"))
	blocks := make([]int64, min(count, maxLayers))
	var output, embeddings int64
	own := false
	for _, t := range f.Tensors() {
		rest, block := strings.CutPrefix(t.Name, "blk.")
		number, _, _ := strings.Cut(rest, ".")
		i, err := strconv.Atoi(number)
		switch {
		case block && err == nil && i >= 0 && i < len(blocks):
			blocks[i] += t.Size
		case strings.HasPrefix(t.Name, "output"):
			own = own || t.Name == "output.weight"
			output += t.Size
		case t.Name == "token_embd.weight":
			embeddings = t.Size
		}
	}
	if !own {
		output += embeddings // the output reads the same table, a copy of it there
	}
	sizes := []int64{output}
	for i := len(blocks) - 1; i >= 0; i-- {
		sizes = append(sizes, blocks[i]+kv/int64(len(blocks)))
	}
	return sizes
}
