package llamacpp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/gguf"
)

// testConfig is the configuration that open uses; Model is left to say.
func testConfig() Config {
	c := Default()
	c.Context, c.Threads, c.Split = 2048, 1, 32
	return c
}

func TestConfigNamesAllFaults(t *testing.T) {
	c := Config{Context: -1, Threads: 0, Split: 5000, KeyType: "f12", ValueType: "", FlashAttn: "maybe", Queue: 0}
	err := c.Validate()
	if fault.KindOf(err) != fault.Invalid {
		t.Fatalf("kind %v: %v", fault.KindOf(err), err)
	}
	for _, want := range []string{
		"model: no file", "context: must be between 1 and 16777216 tokens, not -1", "threads: must be between 1 and 512, not 0",
		"split: must be between 1 and 4096 tokens, not 5000", "queue: must be at least 1, not 0", `key type: must be f16, q8_0 or q4_0, not "f12"`,
		`value type: must be f16, q8_0 or q4_0, not ""`, `flash attention: must be auto, on or off, not "maybe"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	c = testConfig()
	c.Model = "x"
	if err := c.Validate(); err != nil {
		t.Errorf("a sound configuration: %v", err)
	}
	c.ValueType, c.FlashAttn = "q8_0", "off"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "q8_0 needs flash attention") {
		t.Errorf("values in q8_0 without flash attention: %v", err)
	}
	if _, err := OpenEngine(context.Background(), Config{}, NewGate()); fault.KindOf(err) != fault.Invalid {
		t.Errorf("an engine: %v", err)
	}
	if _, err := OpenEmbedder(context.Background(), Config{}, NewGate()); fault.KindOf(err) != fault.Invalid {
		t.Errorf("an embedder: %v", err)
	}
}

// A model that does not fit is refused before it is read; one that does, or on
// a machine that does not tell, is opened.
func TestRefuseForMemory(t *testing.T) {
	c := testConfig()
	c.Model = randomModel(t, tiny)
	try := func(have int64) error {
		c.memory = func() int64 { return have }
		e, err := OpenEngine(context.Background(), c, NewGate())
		if err == nil {
			e.Close()
		}
		return err
	}
	err := try(3 << 20)
	if fault.KindOf(err) != fault.Unavailable {
		t.Fatalf("3 MiB: %v", err)
	}
	for _, want := range []string{c.Model, "MiB of memory", "3 are free"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	// The estimate counts the context: a larger one needs more.
	f, err := gguf.Open(c.Model)
	if err != nil {
		t.Fatal(err)
	}
	before := int64(0)
	for _, c.Context = range []int{16, 2048} {
		kv, scratch := contextBytes(f, c)
		need := f.Size() + kv + scratch
		if need <= before {
			t.Errorf("a context of %d tokens needs %d bytes, a smaller one %d", c.Context, need, before)
		}
		before = need
		if err := try(need); err != nil {
			t.Errorf("exactly enough: %v", err)
		}
		if err := try(need - 1); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("one byte too few: %v", err)
		}
	}
	for _, have := range []int64{-1, 1 << 40} {
		if err := try(have); err != nil {
			t.Errorf("memory %d: %v", have, err)
		}
	}
}

func TestOpenCancelled(t *testing.T) {
	why := errors.New("changed my mind")
	for name, hashed := range map[string]bool{"hash to be made": false, "hash known": true} {
		c := testConfig()
		c.Model = copyOf(t, randomModel(t, tiny))
		if hashed {
			if _, err := weightsHash(context.Background(), c.Model); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(why)
		e, err := OpenEngine(ctx, c, NewGate())
		if e != nil || fault.KindOf(err) != fault.Timeout || !errors.Is(err, why) {
			t.Errorf("%s: engine %v, kind %v, error %v", name, e != nil, fault.KindOf(err), err)
		}
	}
	t.Run("while loading", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		c := testConfig()
		c.Model = randomModel(t, tiny)
		c.Progress = func(float64) { cancel(why) }
		e, err := OpenEngine(ctx, c, NewGate())
		if e != nil || fault.KindOf(err) != fault.Timeout || !errors.Is(err, why) {
			t.Errorf("engine %v, kind %v, error %v", e != nil, fault.KindOf(err), err)
		}
	})
	t.Run("afterwards", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		c := testConfig()
		c.Model = randomModel(t, tiny)
		e, err := OpenEngine(ctx, c, NewGate())
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		cancel() // bounds the loading alone
		generate(t, e, newNumbers(1).prompt(0, 5, 5))
	})
}

func TestProgressEndsAtOne(t *testing.T) {
	var heard []float64
	open(t, tiny, func(c *Config) { c.Progress = func(f float64) { heard = append(heard, f) } })
	if len(heard) == 0 || heard[len(heard)-1] != 1 || heard[0] < 0 || !slices.IsSorted(heard) {
		t.Errorf("progress %v", heard)
	}
}

// copyOf puts a copy of a file into a folder of its own, under another name.
func copyOf(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "a copy.gguf")
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}
