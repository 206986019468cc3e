package budget

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// As memory gets scarce, slices give back as much as is missing, then texts, and idle work
// pauses; the context becomes shorter only if that is not enough. As it becomes free,
// idle work goes on first, then the context grows, and slices come back last.
func TestArbiterOrder(t *testing.T) {
	type want struct {
		Tokens         int
		HotMiB         int64
		Typed, Idle    bool
		Scarce, Waited bool
	}
	model := large() // 700 MiB of weights, 32 KiB a token
	a, at := &Arbiter{}, time.Unix(0, 0)
	in := Use{Context: Context{Tokens: 4096, Bytes: 4096 * 32 << 10}, Hot: 200 * mib, Typed: 40 * mib}
	for _, step := range []struct {
		name  string
		after time.Duration
		left  int64 // beside the weights, with all in use
		use   func()
		want  want
	}{
		{"plenty", 0, 2048 * mib, nil, want{4096, 256, true, true, false, false}},
		{"a little less", time.Minute, 1200 * mib, nil, want{4096, 256, true, true, false, false}},
		{"scarce: slices suffice", time.Minute, 100 * mib, nil, want{4096, 44, true, false, true, false}},
		{"given back", time.Second, 256 * mib, func() { in.Hot = 44 * mib }, want{4096, 16, true, false, false, false}},
		{"calm", time.Minute, 256 * mib, nil, want{4096, 16, true, true, false, false}},
		{"scarce: texts too", time.Minute, 127 * mib, func() { in.Hot, in.Typed = 16*mib, 120*mib }, want{4096, 0, false, false, true, false}},
		{"scarce still", time.Second, 127 * mib, func() { in.Hot, in.Typed = 0, 0 }, want{4096, 0, false, false, true, false}},
		{"scarce for long", time.Second, 127 * mib, nil, want{2048, 0, false, false, true, false}},
		{"free for a moment", time.Minute, 2048 * mib, func() { in.Context.Tokens, in.Context.Bytes = 2048, 2048*32<<10 }, want{2048, 0, true, true, false, true}},
		{"free for long", 10 * time.Minute, 2048 * mib, nil, want{4096, 0, true, true, false, true}},
		{"the context came back", time.Second, 2048 * mib, func() { in.Context.Tokens, in.Context.Bytes = 4096, 4096*32<<10 }, want{4096, 0, true, true, false, false}},
		{"slices come back last", 10 * time.Minute, 2048 * mib, nil, want{4096, 256, true, true, false, false}},
	} {
		t.Run(step.name, func(t *testing.T) {
			if step.use != nil {
				step.use()
			}
			at = at.Add(step.after)
			s := a.Next(Memory{Available: step.left + model.Weights, Threads: 2}, -1, model, in, at)
			got := want{s.Context.Tokens, s.Hot / mib, s.Typed, s.Idle, s.Scarce, s.Waits}
			if d := cmp.Diff(step.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// All work waits for memory: nobody knows how much is missing, so all that is cheap goes.
func TestArbiterStalled(t *testing.T) {
	a, in := &Arbiter{}, Use{Context: Context{Tokens: 2048}, Hot: 200 * mib, Typed: mib}
	at := time.Unix(0, 0)
	a.Next(Memory{Available: 8 * gib}, 0, small(), in, at)
	s := a.Next(Memory{Available: 8 * gib}, 0.2, small(), in, at.Add(time.Second))
	if s.Hot != 0 || s.Typed || s.Idle || !s.Scarce {
		t.Errorf("%+v", s)
	}
}

// Where the free memory is unknown, slices get none, and nothing is scarce.
func TestArbiterUnknown(t *testing.T) {
	in := Use{Context: Context{Tokens: 4096}}
	s := (&Arbiter{}).Next(Memory{Available: -1}, -1, large(), in, time.Unix(0, 0))
	if d := cmp.Diff(Shares{Context: in.Context, Typed: true, Idle: true}, s); d != "" {
		t.Error(d)
	}
}

// A context that the user set stays, and slices still follow the memory.
func TestArbiterFixed(t *testing.T) {
	a, in := &Arbiter{}, Use{Context: Context{Tokens: 4096, Bytes: 128 * mib}, Fixed: true}
	at := time.Unix(0, 0)
	for range 9 {
		at = at.Add(time.Minute)
		if s := a.Next(Memory{Available: 10 * mib}, -1, large(), in, at); s.Context.Tokens != 4096 || s.Idle || s.Hot != 0 {
			t.Fatalf("%+v", s)
		}
	}
	for range 12 {
		at = at.Add(time.Minute)
		a.Next(Memory{Available: 8 * gib}, -1, large(), in, at)
	}
	if s := a.Next(Memory{Available: 8 * gib}, -1, large(), in, at); s.Context.Tokens != 4096 || !s.Idle || s.Hot != MaxHot {
		t.Errorf("%+v", s)
	}
}

// A machine that has no more than the model needs is scarce for ever. Idle work runs there, and
// texts that are being typed are kept, once nothing more can be given back.
func TestArbiterSmallMachine(t *testing.T) {
	model := large()
	for _, fixed := range []bool{false, true} {
		a, at := &Arbiter{}, time.Unix(0, 0)
		in := Use{Context: Context{Tokens: MinContext, Bytes: MinContext * model.TokenBytes}, Typed: mib, Fixed: fixed}
		if fixed {
			in.Context.Tokens = 4096
		}
		next := func(left int64) Shares {
			at = at.Add(calm)
			return a.Next(Memory{Available: model.Weights + left, Threads: 2}, -1, model, in, at)
		}
		if s := next(100 * mib); s.Typed || s.Idle {
			t.Errorf("memory became scarce: %+v", s)
		}
		for _, left := range []int64{100 * mib, own, 130 * mib, 100 * mib} { // to and fro at the threshold
			if s := next(left); !s.Typed || !s.Idle || s.Hot > 0 {
				t.Errorf("%d MiB left: %+v", left/mib, s)
			}
		}
		if s := next(own - 1); s.Typed || s.Idle {
			t.Errorf("less than percached needs: %+v", s)
		}
		next(Margin)
		if s := next(100 * mib); s.Typed || s.Idle {
			t.Errorf("memory became scarce again: %+v", s)
		}
	}
}

// Weights in a GPU's memory take nothing from the page cache: a model larger than the memory
// does not make memory scarce.
func TestArbiterGPU(t *testing.T) {
	model := Model{Weights: 8 * gib, GPUWeights: 8*gib - 100*mib, TokenBytes: 128 << 10, MaxContext: 131072, GPU: true}
	in := Use{Context: Context{Tokens: 4096, Bytes: 512 * mib}, Fixed: true}
	a, at := &Arbiter{}, time.Unix(0, 0)
	if s := a.Next(Memory{Available: 4 * gib}, -1, model, in, at); s.Scarce || !s.Idle || s.Hot != MaxHot {
		t.Errorf("plenty: %+v", s)
	}
	if s := a.Next(Memory{Available: 140 * mib}, -1, model, in, at); !s.Scarce || s.Idle || s.Hot != 0 {
		t.Errorf("what is left beside the weights on the CPU is not counted: %+v", s)
	}
}

// Whatever the readings are: idle work never runs while memory must be given back, and always runs
// when memory was not scarce for a minute; the context becomes shorter only when nothing cheaper is
// left to give; and the limits fit the memory.
func TestArbiterInvariants(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	model := small()
	a, at := &Arbiter{}, time.Unix(0, 0)
	in := Use{Context: Context{Tokens: 4096, Bytes: 4096 * model.TokenBytes}}
	free, scarce := int64(gib), at
	for i := range 20000 {
		at = at.Add(time.Duration(rnd.IntN(120)) * time.Second)
		if rnd.IntN(10) == 0 {
			free = model.Weights + int64(rnd.IntN(1200))*mib
		}
		s := a.Next(Memory{Available: free, Threads: 4}, -1, model, in, at)
		if s.Scarce {
			scarce = at
		}
		switch {
		case !s.Idle && at.Sub(scarce) >= calm:
			t.Fatalf("step %d: idle work pauses although memory was not scarce for %v", i, at.Sub(scarce))
		case s.Scarce && s.Idle && (free-model.Weights < own || in.Hot > 0 || in.shrinks()):
			t.Fatalf("step %d: idle work runs although memory must be given back", i)
		case s.Scarce && s.Hot > in.Hot:
			t.Fatalf("step %d: slices may grow while memory is scarce", i)
		case s.Context.Tokens < in.Context.Tokens && (s.Hot > 0 || s.Typed):
			t.Fatalf("step %d: the context became shorter before slices and texts left", i)
		case s.Context.Tokens < MinContext, s.Hot < 0, s.Hot > MaxHot:
			t.Fatalf("step %d: %+v", i, s)
		}
		free += in.Hot + in.Typed + in.Context.Bytes
		in.Context, in.Hot, in.Typed = s.Context, rnd.Int64N(s.Hot+1), 0
		if s.Typed {
			in.Typed = rnd.Int64N(40 * mib)
		}
		free = max(0, free-in.Hot-in.Typed-in.Context.Bytes)
	}
}
