package llamacpp

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/percached/percached/internal/base/fault"
)

// Config says which model to open and how.
type Config struct {
	Model     string // path of a GGUF file
	Context   int    // tokens one prompt and its answer may take; never more than the model was trained for
	Threads   int
	Split     int    // tokens computed at a time: what idle work may hold a question up for
	KeyType   string // how keys are kept: f16, q8_0, q4_0
	ValueType string
	// GPULayers is how many layers a GPU computes, from the last one down; the output
	// counts as one more. AllThatFit: as many as its memory holds. 0: none. More than 0
	// is refused where there is no GPU.
	GPULayers int
	// FlashAttn is auto, on or off. Auto is off on a CPU, where llama.cpp's
	// plain attention is faster, but on for quantised values, which need it;
	// on a GPU llama.cpp decides.
	FlashAttn string
	// QueryPrefix and DocumentPrefix, when not nil, take the place of those of an
	// embedding model's family.
	QueryPrefix, DocumentPrefix *string

	// Render, when not nil, gives what a chat template, in the language Jinja, makes of
	// each of these variables: "" where it accepts them not. It is not to be trusted.
	// Without it only templates that llama.cpp recognises are known.
	Render func(ctx context.Context, template string, inputs []map[string]any) ([]string, error)

	Queue int // requests of one priority that may wait; more are refused
	// Progress, when not nil, hears how much of the model is loaded, 0 to 1.
	Progress func(fraction float64)

	memory func() int64 // bytes to be had; negative: not known. For tests
	piece  int          // bytes that a piece of a slice aims at, if not pieceBytes. For tests
}

// Default is a sane start for a small machine; Model is left to say.
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

// The K/V types in which tensors can be kept, as ggml numbers them.
var kvTypes = map[string]uint32{"f16": 1, "q4_0": 2, "q8_0": 8}

// Flash attention, as llama.cpp numbers it.
const (
	flashAuto = -1
	flashOff  = 0
	flashOn   = 1
)

var flashTypes = map[string]int32{"auto": flashAuto, "off": flashOff, "on": flashOn}

// flash is what llama.cpp is told.
func (c Config) flash() int32 {
	f := flashTypes[c.FlashAttn]
	switch {
	case f != flashAuto || c.onGPU() || (runtime.GOOS == "darwin" && runtime.GOARCH == "arm64"):
		return f
	case c.ValueType != "f16":
		return flashOn
	}
	return flashOff
}

// onGPU says whether a GPU computes: flash attention is then left to llama.cpp.
func (c Config) onGPU() bool { return c.GPULayers != 0 && len(gpus()) > 0 }

// Validate names every fault of the configuration at once.
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
