package llamacpp

import (
	"context"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/gguf"
)

// What runs during binds itself; its caller is where it was before.
func TestBind(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := allowedCPUs()
	if len(before) < 2 {
		t.Skip("this process has one processor")
	}
	c := cores{cpus: before[1:2], threads: 1}
	c.during(func() {
		if d := cmp.Diff(c.cpus, allowedCPUs()); d != "" {
			t.Error(d)
		}
	})
	if d := cmp.Diff(before, allowedCPUs()); d != "" {
		t.Errorf("afterwards: %s", d)
	}
	cores{}.during(func() {
		if d := cmp.Diff(before, allowedCPUs()); d != "" {
			t.Errorf("without cores: %s", d)
		}
	})
}

// An engine computes on its cores alone, as many threads as there are, and with the same
// bits. Whoever opened it is not bound.
func TestEngineOnCores(t *testing.T) {
	before := allowedCPUs()
	if len(before) < 2 {
		t.Skip("this process has one processor")
	}
	p := newNumbers(9).prompt(percached.Sequential, 20, 33, 9)
	p.MaxTokens = 2
	var free percached.Result
	for _, on := range []cores{{why: "not bound"}, {cpus: before[1:2], threads: 1, why: "a test"}} {
		e := open(t, gguf.RandomOptions{Shape: "tiny", Seed: 7}, func(c *Config) { c.Threads, c.cores = 2, on })
		r := generate(t, e, capturing(p))
		want := before
		if len(on.cpus) == 0 {
			free = r
		} else {
			want = on.cpus
			equal(t, "bound", free, r)
		}
		if threads := on.limit(2); e.Info().Threads != threads {
			t.Errorf("%s: %d threads, want %d", on.why, e.Info().Threads, threads)
		}
		if err := e.worker.do(t.Context(), percached.Foreground, func(context.Context) error {
			if d := cmp.Diff(want, allowedCPUs()); d != "" {
				t.Errorf("%s: %s", on.why, d)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(before, allowedCPUs()); d != "" {
		t.Errorf("the caller: %s", d)
	}
}
