package budget

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// Shapes of real models: the file, keys and values of a token in f16, parameters.
func small() Model { // SmolLM2-135M in q4_1
	return Model{Weights: 94 * mib, TokenBytes: 23040, Scratch: 28 * mib, Parameters: 135e6, MaxContext: 8192}
}

func large() Model { // 1B in q4_0
	return Model{Weights: 700 * mib, TokenBytes: 32 << 10, Scratch: 50 * mib, Parameters: 1.1e9, MaxContext: 131072}
}

func TestChooseContext(t *testing.T) {
	for _, tc := range []struct {
		name  string
		m     Memory
		model Model
		set   int
		want  Context
	}{
		{"much memory, small model", Memory{Available: 8 * gib, Threads: 4}, small(), 0, Context{Tokens: 8192, Bound: ByModel}},
		{"much memory, large model, few threads", Memory{Available: 8 * gib, Threads: 2}, large(), 0, Context{Tokens: 4096, Bound: BySpeed}},
		{"much memory, large model, many threads", Memory{Available: 64 * gib, Threads: 16}, large(), 0, Context{Tokens: 8192, Bound: BySpeed}},
		{"much memory, tiny model", Memory{Available: 8 * gib, Threads: 2}, Model{Weights: 5 * mib, TokenBytes: 4096, Parameters: 5e6, MaxContext: 1 << 20}, 0, Context{Tokens: MaxContext, Bound: ByMaximum}},
		{"1 GiB", Memory{Available: 1 * gib, Threads: 2}, large(), 0, Context{Tokens: 1024, Bound: ByMemory}},
		{"1080 MiB", Memory{Available: 1080 * mib, Threads: 2}, large(), 0, Context{Tokens: 2048, Bound: ByMemory}},
		{"tight", Memory{Available: 850 * mib, Threads: 2}, large(), 0, Context{Tokens: 1024, Bound: ByMemory, Tight: true}},
		{"too little", Memory{Available: 820 * mib, Threads: 2}, large(), 0, Context{Bound: ByMemory, Tight: true}},
		{"unknown memory", Memory{Available: -1, Threads: 2}, large(), 0, Context{Tokens: 4096, Bound: ByNothing}},
		{"unknown model", Memory{Available: 8 * gib, Threads: 2}, Model{}, 0, Context{Tokens: 4096, Bound: ByModel}},
		{"the user's word", Memory{Available: 850 * mib, Threads: 2}, large(), 32768, Context{Tokens: 32768, Bound: BySetting}},
		{"the user's word beyond the model", Memory{Available: 8 * gib, Threads: 2}, small(), 32768, Context{Tokens: 8192, Bound: BySetting}},
		{"a short model", Memory{Available: 8 * gib, Threads: 2}, Model{TokenBytes: 4096, Parameters: 5e6, MaxContext: 512}, 0, Context{Tokens: 512, Bound: ByModel}},
		{"other tensors beyond a length", Memory{Available: 8 * gib, Threads: 2}, Model{TokenBytes: 4096, Parameters: 5e6, MaxContext: 131072, SameContext: 4096}, 0, Context{Tokens: 4096, Bound: ByModel}},
		{"on a GPU", Memory{Available: 300 * mib, Threads: 2}, Model{Weights: 8 * gib, TokenBytes: 131072, MaxContext: 131072, GPU: true}, 0, Context{Tokens: 4096, Bound: ByGPU}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.want.Bytes = int64(tc.want.Tokens) * tc.model.TokenBytes
			got := ChooseContext(tc.m, tc.model, tc.set)
			got.Room = 0
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Keys and values get 60 % of what weights and margin leave.
func TestRoom(t *testing.T) {
	for free, want := range map[int64]int64{1000 * mib: 360 * mib, 400 * mib: 0, 0: 0, -1: -1} {
		if got := ChooseContext(Memory{Available: free, Threads: 2}, Model{Weights: 144 * mib, TokenBytes: 1 << 10}, 0).Room; got != want {
			t.Errorf("%d free: %d, want %d", free, got, want)
		}
	}
}

// More memory never makes the context shorter, and what is chosen fits.
func TestContextGrowsWithMemory(t *testing.T) {
	for _, model := range []Model{small(), large()} {
		before := 0
		for free := int64(0); free < 4*gib; free += 7 * mib {
			c := ChooseContext(Memory{Available: free, Threads: 8}, model, 0)
			if c.Tokens < before {
				t.Fatalf("%d MiB: %d tokens, less than %d", free/mib, c.Tokens, before)
			}
			if c.Tokens > 0 && model.Weights+model.Scratch+c.Bytes > free {
				t.Fatalf("%d MiB: %d tokens do not fit", free/mib, c.Tokens)
			}
			if c.Tokens > MinContext && c.Bytes > c.Room {
				t.Fatalf("%d MiB: %d tokens take more than their room", free/mib, c.Tokens)
			}
			before = c.Tokens
		}
	}
}

// Free memory that differs a little from one start to the next gives the same context.
func TestContextIsSteady(t *testing.T) {
	lengths := map[int]bool{}
	for free := int64(1100 * mib); free < 1160*mib; free += mib {
		lengths[ChooseContext(Memory{Available: free, Threads: 8}, large(), 0).Tokens] = true
	}
	if len(lengths) > 2 {
		t.Errorf("60 MiB make %d lengths: %v", len(lengths), lengths)
	}
}

func TestChooseTensors(t *testing.T) {
	for _, tc := range []struct {
		name string
		d    Disk
		want Tensors
	}{
		{"large disk", Disk{Free: 500 * gib}, Tensors{16 * gib, ByMaximum}},
		{"a quarter", Disk{Free: 20 * gib}, Tensors{5 * gib, ByDisk}},
		{"what is held counts as free", Disk{Free: 16 * gib, Held: 4 * gib}, Tensors{5 * gib, ByDisk}},
		{"the reserve", Disk{Free: 1100 * mib, Held: 100 * mib}, Tensors{128 * mib, ByReserve}},
		{"less than the reserve", Disk{Free: 500 * mib}, Tensors{0, ByReserve}},
		{"unknown", Disk{Free: -1}, Tensors{1 * gib, ByNothing}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := ChooseTensors(tc.d); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

// mixture is a model of 64 experts, four of which a token uses.
func mixture() Model {
	return Model{Weights: 525 * mib, Experts: 486 * mib, Working: 101 * mib, TokenBytes: 12 << 10, Scratch: 30 * mib, Parameters: 1e9, MaxContext: 32768}
}

// Where the memory does not hold the experts of a mixture, only some must fit.
func TestMixture(t *testing.T) {
	for _, tc := range []struct {
		name      string
		available int64
		set       int
		weights   int64 // that must stay in memory
		want      Context
	}{
		{"all fits", 8 * gib, 0, 525 * mib, Context{Tokens: MaxContext, Bound: ByMaximum}},
		{"all fits with the usual context", 862 * mib, 0, 525 * mib, Context{Tokens: 4096, Bound: ByMemory}},
		{"a little less", 860 * mib, 0, 140 * mib, Context{Tokens: 4096, Bound: ByMemory, Mapped: true}},
		{"less than the file", 500 * mib, 0, 140 * mib, Context{Tokens: 4096, Bound: ByMemory, Mapped: true}},
		{"a long context is set", 1000 * mib, 32768, 140 * mib, Context{Tokens: 32768, Bound: BySetting, Mapped: true}},
		{"tight", 240 * mib, 0, 140 * mib, Context{Tokens: MinContext, Bound: ByMemory, Mapped: true, Tight: true}},
		{"too little", 225 * mib, 0, 140 * mib, Context{Bound: ByMemory, Mapped: true, Tight: true}},
		{"unknown", -1, 0, 525 * mib, Context{Tokens: 4096, Bound: ByNothing}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := Memory{Available: tc.available, Threads: 64}
			model := mixture().On(m, tc.set)
			if model.Weights != tc.weights || model.Weights+model.Mapped != mixture().Weights {
				t.Errorf("%d MiB stay in memory and %d are mapped, want %d and the rest", model.Weights/mib, model.Mapped/mib, tc.weights/mib)
			}
			if model.On(m, tc.set) != model {
				t.Error("a model that is mapped is mapped once more")
			}
			got := ChooseContext(m, model, tc.set)
			tc.want.Bytes, got.Room = int64(tc.want.Tokens)*model.TokenBytes, 0
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A model without experts, and one on a GPU, is the same everywhere.
func TestNothingMapped(t *testing.T) {
	gpu := mixture()
	gpu.GPU = true
	for _, m := range []Model{small(), large(), gpu} {
		if got := m.On(Memory{Available: 50 * mib}, 0); got != m {
			t.Errorf("%+v became %+v", m, got)
		}
	}
}

// More memory never makes the context of a mixture shorter.
func TestMixtureGrowsWithMemory(t *testing.T) {
	before := 0
	for free := int64(0); free < 2*gib; free += mib {
		m := Memory{Available: free, Threads: 64}
		c := ChooseContext(m, mixture().On(m, 0), 0)
		if c.Tokens < before {
			t.Fatalf("%d MiB: %d tokens, less than %d", free/mib, c.Tokens, before)
		}
		before = c.Tokens
	}
}
