package llamacpp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/gguf"
)

// Config is which model to open and how.
type Config struct {
	Model     string // path of a GGUF file
	Context   int    // maximum tokens of a prompt and its answer, at most the model's training context
	Threads   int
	Split     int    // tokens computed in one batch: how long idle work can delay a question
	KeyType   string // type of stored keys: f16, q8_0, q4_0
	ValueType string
	// GPULayers is how many layers a GPU computes, from the last one down, including the
	// output as one. AllThatFit: as many as its memory holds. 0: none. More than 0 is
	// refused without a GPU.
	GPULayers int
	// FlashAttn is auto, on or off. Auto is on for models that write, so that drafts can be
	// checked (see Engine.evenBatches), and off for encoders on a CPU, where it doubles the
	// time of a text. On a GPU llama.cpp decides.
	FlashAttn string
	// QueryPrefix and DocumentPrefix, if not nil, replace those of an embedding model's
	// family.
	QueryPrefix, DocumentPrefix *string

	// Render, if not nil, renders a Jinja chat template with each of these variables; ""
	// if it refuses them. The template is untrusted. Without Render only the templates
	// that llama.cpp recognises are known.
	Render func(ctx context.Context, template string, inputs []map[string]any) ([]string, error)

	Queue int // maximum waiting requests of one priority; more are refused
	// Progress, if not nil, receives the loaded fraction of the model, 0 to 1.
	Progress func(fraction float64)

	cores  cores        // that Open found
	memory func() int64 // free memory in bytes; negative: unknown. For tests
	piece  int          // target size of a slice's piece instead of pieceBytes. For tests
}

// Default suits a small machine; the caller sets Model.
func Default() Config {
	return Config{
		Context:   4096,
		Threads:   runtime.GOMAXPROCS(0),
		Split:     64,
		KeyType:   "f16",
		ValueType: "f16",
		GPULayers: AllThatFit,
		FlashAttn: "auto",
		Queue:     64,
	}
}

// The types of stored keys and values, with ggml's numbers.
var kvTypes = map[string]uint32{"f16": 1, "q4_0": 2, "q8_0": 8}

// Flash attention, with llama.cpp's numbers.
const (
	flashAuto = -1
	flashOff  = 0
	flashOn   = 1
)

var flashTypes = map[string]int32{"auto": flashAuto, "off": flashOff, "on": flashOn}

// flash is the setting for llama.cpp.
func (c Config) flash(encoder bool) int32 {
	f := flashTypes[c.FlashAttn]
	switch {
	case f != flashAuto || c.onGPU() || (runtime.GOOS == "darwin" && runtime.GOARCH == "arm64"):
		return f
	case encoder:
		return flashOff
	}
	return flashOn
}

// onGPU reports whether a GPU computes: llama.cpp then decides about flash attention.
func (c Config) onGPU() bool { return c.GPULayers != 0 && len(gpus()) > 0 }

// Validate reports all faults together.
func (c Config) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.Model == "", "model: no file is named")
	bad(c.Context < 1 || c.Context > 1<<24, "context: must be between 1 and %d tokens, not %d", 1<<24, c.Context)
	bad(c.Threads < 1 || c.Threads > 512, "threads: must be between 1 and 512, not %d", c.Threads)
	bad(c.Split < 1 || c.Split > 4096, "split: must be between 1 and 4096 tokens, not %d", c.Split)
	bad(c.GPULayers < AllThatFit, "gpu layers: must be -1 (all that fit) or more, not %d", c.GPULayers)
	bad(c.Queue < 1, "queue: must be at least 1, not %d", c.Queue)
	_, ok := kvTypes[c.KeyType]
	bad(!ok, "key type: must be f16, q8_0 or q4_0, not %q", c.KeyType)
	_, ok = kvTypes[c.ValueType]
	bad(!ok, "value type: must be f16, q8_0 or q4_0, not %q", c.ValueType)
	_, ok = flashTypes[c.FlashAttn]
	bad(!ok, "flash attention: must be auto, on or off, not %q", c.FlashAttn)
	bad(c.FlashAttn == "off" && c.ValueType != "f16" && kvTypes[c.ValueType] != 0,
		"value type: %s needs flash attention, which is off", c.ValueType)
	if len(errs) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, "llamacpp: config", "%w", errors.Join(errs...))
}

// AllThatFit lets the engine choose the number of layers on a GPU.
const AllThatFit = -1

// A gpu is a device of llama.cpp with its free memory.
type gpu struct {
	name     string // with what it is
	computes bool   // it is a GPU
	shared   bool   // its memory is the CPU's
	room     int64
}

// chooseGPUs selects like llama.cpp: devices that share the CPU's memory only if there
// are no others.
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

// gpuReserve stays free on each GPU: llama.cpp's scratch memory exceeds the estimate from
// the file, and other programs need some.
const gpuReserve = 512 << 20

// A placing is where a model's layers are computed.
type placing struct {
	layers int   // llama.cpp's count; AllThatFit: left to llama.cpp, as there is no GPU
	away   int64 // bytes of weights and context outside the CPU's memory
}

// place decides where the layers go; kv and scratch are the context's memory.
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

// layerSizes are the sizes of the layers in the order in which llama.cpp moves them to a
// GPU: the output first, then from the last one down. Token embeddings stay on the CPU.
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
		output += embeddings // the output uses a copy of the same table
	}
	sizes := []int64{output}
	for i := len(blocks) - 1; i >= 0; i-- {
		sizes = append(sizes, blocks[i]+kv/int64(len(blocks)))
	}
	return sizes
}
