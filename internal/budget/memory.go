package budget

import (
	"cmp"
	"fmt"
)

const (
	// Margin is memory that stays free beside weights and keys and values: for percached itself,
	// for the engine's scratch memory, and for other programs that grow.
	Margin = 256 << 20
	// own is what percached cannot do without beside the engine.
	own = 48 << 20
	// shareKV of what is left are keys and values. The rest is for uploads, typing and page cache.
	shareKV = 0.6

	// MinContext holds a prompt of three chunks and its answer.
	MinContext = 1024
	// UsualContext is the length where the memory is unknown, and the one that slow machines get.
	UsualContext = 4096
	// MaxContext bounds the length that is chosen: a conversation fills half of the context, and
	// small models make little use of more.
	MaxContext = 16384

	readSeconds = 60   // maximum time to read a prompt that fills the context
	threadSpeed = 20e9 // operations of a thread a second; low for a CPU of the last ten years
)

// Model is what a model needs.
type Model struct {
	Weights int64 // bytes that stay in memory
	// Mapped are bytes of weights beside these that are read from the file when they are used.
	Mapped int64
	// Experts are the experts of a mixture, and Working is what of them must stay in memory.
	Experts, Working int64
	TokenBytes       int64 // keys and values of one token
	Scratch          int64 // bytes of the engine's buffers
	Parameters       int64
	MaxContext       int // the model's own limit in tokens
	// SameContext is the longest context with the tensors of a short one; 0: all have the same.
	SameContext int
	GPU         bool // a GPU computes layers
	// GPUWeights are those of the weights that a GPU has. They are no page cache.
	GPUWeights int64
}

// Memory is the memory of a machine.
type Memory struct {
	Total     int64 // of the machine or of the process's control group
	Available int64 // of that, what neither the system nor programs use
	Threads   int   // that compute
}

// On is the model on a machine whose memory may not hold all its experts beside a context of
// this length, 0 for the usual one. Those that it does not hold are mapped.
func (m Model) On(memory Memory, set int) Model {
	tokens := min(cmp.Or(set, UsualContext), cmp.Or(m.MaxContext, UsualContext))
	room := int64(shareKV * float64(memory.Available-m.Weights-Margin))
	if m.GPU || memory.Available < 0 || m.Experts <= m.Working || room >= int64(tokens)*m.TokenBytes {
		return m
	}
	m.Mapped += m.Experts - m.Working
	m.Weights -= m.Experts - m.Working
	m.Experts = m.Working
	return m
}

// Bound is what decided a number.
type Bound string

// The bounds.
const (
	BySetting Bound = "configuration"
	ByMemory  Bound = "memory"
	ByModel   Bound = "model"
	BySpeed   Bound = "speed"
	ByGPU     Bound = "gpu"
	ByMaximum Bound = "maximum"
	ByDisk    Bound = "disk"
	ByReserve Bound = "reserve"
	ByNothing Bound = "unknown" // what the machine has is unknown
)

// Context is a length of the context and where it comes from.
type Context struct {
	Tokens int
	Room   int64 // bytes that keys and values may take; negative: unknown
	Bytes  int64 // that they take
	Bound  Bound
	Tight  bool // less than the margin is left
	Mapped bool // it takes memory from experts, which are read from the file
}

// ChooseContext chooses the length of the context; set is the user's choice, 0 for none. The
// result has no tokens if even MinContext does not fit.
func ChooseContext(m Memory, model Model, set int) Context {
	c := Context{Room: -1, Mapped: model.Mapped > 0}
	rest := m.Available - model.Weights - Margin
	if m.Available >= 0 {
		c.Room = max(0, int64(shareKV*float64(rest)))
	}
	limit := cmp.Or(model.MaxContext, UsualContext)
	least := min(MinContext, limit)
	c.Tokens, c.Bound = limit, ByModel
	bound := func(tokens int, by Bound) {
		if tokens < c.Tokens {
			c.Tokens, c.Bound = tokens, by
		}
	}
	switch {
	case set > 0:
		c.Tokens, c.Bound = min(set, limit), BySetting
	case model.GPU: // the engine itself divides the memory of the GPU
		bound(UsualContext, ByGPU)
	case m.Available < 0:
		bound(UsualContext, ByNothing)
	default:
		bound(MaxContext, ByMaximum)
		if model.Mapped > 0 { // a longer one would take memory from experts
			bound(UsualContext, ByMemory)
		}
		bound(readable(model.Parameters, m.Threads), BySpeed)
		if model.TokenBytes > 0 {
			bound(max(least, stepBelow(c.Room/model.TokenBytes)), ByMemory)
		}
		c.Tight = int64(least)*model.TokenBytes > rest
		if model.Needs() > m.Available {
			c.Tokens, c.Bound = 0, ByMemory
		}
	}
	if set <= 0 && model.SameContext > 0 {
		bound(model.SameContext, ByModel)
	}
	c.Bytes = int64(c.Tokens) * model.TokenBytes
	return c
}

// cached are the weights that must stay in the page cache, which counts as available.
func (m Model) cached() int64 { return m.Weights - m.GPUWeights }

// Needs is the least memory that a model can be opened with.
func (m Model) Needs() int64 {
	least := min(MinContext, cmp.Or(m.MaxContext, MinContext))
	return m.Weights + m.Scratch + own + int64(least)*m.TokenBytes
}

// readable is how many tokens a machine reads in readSeconds, but at least UsualContext.
func readable(parameters int64, threads int) int {
	if parameters <= 0 || threads <= 0 {
		return UsualContext
	}
	n := readSeconds * threadSpeed * float64(threads) / (2 * float64(parameters))
	return max(UsualContext, stepBelow(int64(min(n, MaxContext))))
}

// stepBelow is the longest step of at most n tokens: 1024, 1536, 2048, 3072 and so on. Steps keep
// the length the same from one start to the next, although the free memory differs a little.
func stepBelow(n int64) int {
	if n < MinContext {
		return 0
	}
	step := int64(MinContext)
	for 2*step <= n && step < 1<<24 {
		step *= 2
	}
	if step+step/2 <= n {
		step += step / 2
	}
	return int(step)
}

// Why says in a sentence why the context has its length.
func (c Context) Why() string {
	switch {
	case c.Bound == BySetting:
		return "set in the configuration"
	case c.Tokens == 0:
		return "the memory does not hold the model"
	case c.Bound == ByModel:
		return "the model's own limit"
	case c.Bound == BySpeed:
		return fmt.Sprintf("a longer prompt would take more than about %d seconds to read here", readSeconds)
	case c.Bound == ByGPU:
		return "a longer context would take memory of the GPU from layers"
	case c.Bound == ByMaximum:
		return "the longest that is chosen"
	case c.Bound == ByNothing:
		return "the free memory is unknown here"
	case c.Tight:
		return "the shortest: memory is scarce"
	case c.Mapped && c.Tokens >= UsualContext:
		return "a longer context would take memory from the experts"
	}
	return "as much as the memory for keys and values holds"
}
