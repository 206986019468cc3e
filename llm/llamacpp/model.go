package llamacpp

/*
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
)

// A model is loaded weights with their vocabulary and the flags that C polls.
type model struct {
	c     *C.struct_llama_model
	vocab *vocabulary
	file  *gguf.File
	hash  string
	gpu   placing
	flags *C.pc_flags
	fetch bool // experts are read as soon as they are chosen: the memory does not hold all
}

// A lifetime protects a model from being freed while callers' goroutines use it, for
// example for tokenising.
type lifetime struct {
	mu    sync.RWMutex
	ended bool
}

// enter must be followed by leave unless it fails.
func (l *lifetime) enter() error {
	l.mu.RLock()
	if l.ended {
		l.mu.RUnlock()
		return llm.ErrClosed
	}
	return nil
}

func (l *lifetime) leave() { l.mu.RUnlock() }

// end frees the model once, when all callers have left.
func (l *lifetime) end(free func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.ended = true
		free()
	}
}

// llama.cpp is initialised once per process.
var setUp = sync.OnceFunc(func() { C.pc_init() })

// openModel checks everything possible without C, then loads the model. need is the
// memory for keys, values and scratch in addition to the weights.
func openModel(ctx context.Context, c Config, need func(*gguf.File) (kv, scratch int64)) (_ *model, err error) {
	const op = "llamacpp: open model"
	if err := CPU().usable(); err != nil {
		return nil, err
	}
	if err := usableLibrary(); err != nil {
		return nil, err
	}
	f, err := gguf.Open(c.Model)
	if err != nil {
		return nil, err
	}
	if err := f.CheckModel(); err != nil {
		return nil, err
	}
	kv, scratch := need(f)
	gpu, err := place(f, c.GPULayers, gpus(), kv, scratch)
	if err != nil {
		return nil, err
	}
	m := &model{file: f, gpu: gpu}
	if m.fetch, err = fits(c, f, kv+scratch-gpu.away, m.gpuLayers() > 0); err != nil {
		return nil, err
	}
	if m.hash, err = weightsHash(ctx, c.Model); err != nil {
		return nil, err
	}
	m.flags = (*C.pc_flags)(C.calloc(1, C.sizeof_pc_flags))
	defer func() {
		if err != nil {
			m.free()
		}
	}()
	setUp()
	takeErrors()
	m.load(ctx, c)
	switch {
	case ctx.Err() != nil:
		return nil, fault.New(fault.Timeout, op, "%w", context.Cause(ctx))
	case m.c == nil:
		return nil, fault.New(fault.Unsupported, op, "%s: %s", c.Model, takeErrors())
	}
	m.vocab = newVocabulary(C.llama_model_get_vocab(m.c))
	return m, nil
}

// scarce is how much must be free beside a model so that its experts stay in memory.
const scarce = 256 << 20

// fits refuses a model that would not fit into memory without swapping, or without reading more
// than experts again and again. fetch says that the memory may not hold all experts. To fetch
// them costs a tenth of the time where it does. A GPU has no use for experts in a file.
func fits(c Config, f *gguf.File, beside int64, onGPU bool) (fetch bool, err error) {
	memory := c.memory
	if memory == nil {
		memory = machine.Available
	}
	have, want := memory(), f.Size()+beside
	if all, working := expertBytes(f); !onGPU && all > 0 {
		fetch = have >= 0 && have < want+scarce
		want -= all - working
	}
	if have < 0 || want <= have {
		return fetch, nil
	}
	return false, fault.New(fault.Unavailable, "llamacpp: open model",
		"%s needs about %d MiB of memory (weights %d, context and scratch %d) and %d are free: take a smaller model, a smaller context, or a smaller K/V type",
		c.Model, want>>20, f.Size()>>20, beside>>20, have>>20)
}

// load runs in C for a long time; progress and the end of ctx use the flags.
func (m *model) load(ctx context.Context, c Config) {
	stopped := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(stopped)
		m.stop(true)
	})
	defer func() {
		if !unhook() {
			<-stopped // the flags may be freed next
		}
		m.stop(false)
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		path := C.CString(c.Model)
		defer C.free(unsafe.Pointer(path))
		m.c = C.pc_model_load(path, m.flags, C.int32_t(m.gpu.layers), C.bool(m.mapped()))
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			if c.Progress != nil && m.c != nil {
				c.Progress(1)
			}
			return
		case <-tick.C:
			if c.Progress != nil {
				c.Progress(float64(atomic.LoadInt32((*int32)(&m.flags.progress))) / 1000)
			}
		}
	}
}

// stop tells C to stop soon, or to continue.
func (m *model) stop(on bool) {
	v := int32(0)
	if on {
		v = 1
	}
	atomic.StoreInt32((*int32)(&m.flags.stop), v)
}

// gpuLayers is how many layers a GPU computes.
func (m *model) gpuLayers() int { return max(0, m.gpu.layers) }

// mapped reports whether all weights stay in the mapped file: those of a mixture of experts,
// because what the memory does not hold of it is read again. A library would else copy weights
// into a layout of its own.
func (m *model) mapped() bool { return m.gpuLayers() == 0 && len(expertParts(m.file)) > 0 }

func (m *model) free() {
	if m.c != nil {
		C.llama_model_free(m.c)
	}
	C.free(unsafe.Pointer(m.flags))
	m.c, m.flags = nil, nil
}

// noSlices is why this model's tensors cannot be stored and restored; empty if they can.
func (m *model) noSlices() string {
	switch rope := C.llama_model_rope_type(m.c); {
	case bool(C.llama_model_is_diffusion(m.c)):
		return "the model is a diffusion model: it has no tensors to keep"
	case rope == C.LLAMA_ROPE_TYPE_MROPE || rope == C.LLAMA_ROPE_TYPE_IMROPE || rope == C.LLAMA_ROPE_TYPE_VISION:
		return "the model counts positions on several axes, which llama.cpp does not store"
	}
	return leftOut(m.file.Architecture())
}

// recurrence reports whether some layers attend to separate tokens, and whether some keep
// everything read in one state.
func (m *model) recurrence() (attends, recurrent bool) {
	pure := bool(C.llama_model_is_recurrent(m.c))
	return !pure, pure || bool(C.llama_model_is_hybrid(m.c))
}

// noParallel is why chunks cannot be computed separately; empty if they can.
func (m *model) noParallel() string {
	if _, recurrent := m.recurrence(); recurrent {
		return "the model is recurrent: what it remembers of two chunks that were read apart cannot be put together"
	}
	return ""
}

// queryWidth is the number of query values of a token in each layer, according to the
// model.
func (m *model) queryWidth() int { return int(C.llama_model_n_head(m.c)) * m.headSize("key") }

// feedForward is the number of values of a token in the feed-forward part of a layer,
// averaged over the layers; in a mixture of experts, those of the experts that it uses.
func feedForward(f *gguf.File) int {
	size, ok := f.Int(f.Key("feed_forward_length"))
	if layers, _ := f.Ints(f.Key("feed_forward_length")); !ok && len(layers) > 0 {
		for _, n := range layers {
			size += n
		}
		size /= int64(len(layers))
	}
	if each, ok := f.Int(f.Key("expert_feed_forward_length")); ok {
		size = each
	}
	used, _ := f.Int(f.Key("expert_used_count"))
	return int(size * max(1, used))
}

// headSize is the number of values of a token in one attention head, as key or value.
func (m *model) headSize(plane string) int {
	heads := int(C.llama_model_n_head(m.c))
	if head, _ := m.file.Uint(m.file.Key("attention." + plane + "_length")); head > 0 {
		return int(head)
	}
	return int(C.llama_model_n_embd(m.c)) / max(1, heads)
}
