package llamacpp

import (
	"context"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/gguf"
)

func mixture(context int, free int64) (gguf.RandomOptions, func(*Config)) {
	o := gguf.RandomOptions{Shape: "tiny", Architecture: "qwen3moe", Seed: 7, Type: "f16"}
	return o, func(c *Config) { c.Context, c.memory = context, func() int64 { return free } }
}

// Experts that are read as soon as they are chosen compute the same bits as all others.
func TestFetchedExpertsComputeTheSame(t *testing.T) {
	held, fetched := openMixture(t, -1), openMixture(t, 100<<20)
	if held.model.fetch || !fetched.model.fetch {
		t.Fatalf("experts are fetched: %v where the memory holds them, %v where it does not", held.model.fetch, fetched.model.fetch)
	}
	r := newNumbers(5)
	p := r.prompt(percached.Sequential, 20, 64, 100, 33)
	p.MaxTokens = 16
	cold := generate(t, held, capturing(p))
	equal(t, "fetched, cold", cold, generate(t, fetched, p))
	equal(t, "fetched, warm", cold, generate(t, fetched, with(p, cold.Slices, 0b111)))
}

func openMixture(t *testing.T, free int64) *Engine {
	t.Helper()
	o, change := mixture(512, free)
	return open(t, o, change)
}

// Of a mixture only what must stay in memory must fit; a model without experts must fit whole.
func TestMixtureNeedsLess(t *testing.T) {
	o, change := mixture(64, -1)
	c := Default()
	c.Model = randomModel(t, o)
	change(&c)
	f, err := gguf.Open(c.Model)
	if err != nil {
		t.Fatal(err)
	}
	kv, scratch := contextBytes(f, c)
	all, working := expertBytes(f)
	d, err := DemandOf(c)
	if err != nil {
		t.Fatal(err)
	}
	var parts int64
	for _, p := range d.Experts {
		parts += p.Size
	}
	// 4 layers of 8 experts, each three matrices of 64 by 128 in f16; a token uses 2 of 8.
	if want := int64(4 * 8 * 3 * 64 * 128 * 2); all != want || working != want*3/4 || parts != all || d.ExpertBytes != all || d.WorkingBytes != working {
		t.Errorf("%d bytes of experts (%d in parts), of which %d must stay; want %d and three quarters", all, parts, working, want)
	}
	least := f.Size() + kv + scratch - (all - working)
	for free, ok := range map[int64]bool{least: true, least - 1: false} {
		c.memory = func() int64 { return free }
		e, err := OpenEngine(context.Background(), c, NewGate())
		switch {
		case err == nil:
			e.Close()
			if !ok {
				t.Errorf("opened with %d bytes free of %d", free, least)
			}
		case ok || fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "free"):
			t.Errorf("%d bytes free of %d: %v", free, least, err)
		}
	}
	c.Model = randomModel(t, gguf.RandomOptions{Shape: "tiny", Seed: 7})
	if d, err := DemandOf(c); err != nil || len(d.Experts) > 0 || d.ExpertBytes != 0 || d.WorkingBytes != 0 {
		t.Errorf("a llama has experts: %+v, %v", d, err)
	}
}
