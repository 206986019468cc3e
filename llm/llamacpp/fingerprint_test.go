package llamacpp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached/llm/gguf"
)

func hashOf(t *testing.T, path string) string {
	t.Helper()
	sum, err := weightsHash(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// alone fails if anything lies in the folder but what is named.
func alone(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.Contains(strings.Join(names, "/"), e.Name()) {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWeightsHash(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.gguf")
	kept := path + ".percached-sum"
	at := time.Unix(1e9, 123456789)
	rewrite := func(text string, at time.Time) {
		write(t, path, text)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	rewrite("weights", at)
	if got := hashOf(t, path); got != sumOf("weights") {
		t.Fatalf("hash %s", got)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Fatalf("it was not kept: %v", err)
	}
	alone(t, dir, "m.gguf", "m.gguf.percached-sum")

	// A kept hash is believed while the file stays as it is: this one is a lie.
	lie := sumOf("a lie")
	forge := func() (line, forged string) {
		t.Helper()
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		behind := " " + stampOf(st) + "\n"
		write(t, kept, lie+behind)
		if got := hashOf(t, path); got != lie {
			t.Errorf("the kept hash was not used: %s", got)
		}
		return sumOf("weights") + behind, lie + behind
	}
	for name, change := range map[string]func(){
		"another time":       func() { rewrite("weights", at.Add(time.Nanosecond)) },
		"another size":       func() { rewrite("weight", at) },
		"another and larger": func() { rewrite("weights and more", at.Add(time.Hour)) },
		"another alike": func() {
			file := path
			path += ".new"
			rewrite("weighty", at)
			if err := os.Rename(path, file); err != nil {
				t.Fatal(err)
			}
			path = file
		},
	} {
		rewrite("weights", at)
		forge()
		change()
		text, _ := os.ReadFile(path)
		for _, round := range []string{"anew", "kept"} {
			if got := hashOf(t, path); got != sumOf(string(text)) {
				t.Errorf("%s, %s: hash %s", name, round, got)
			}
		}
	}
	rewrite("weights", at)
	line, forged := forge()
	for name, text := range map[string]string{
		"empty": "", "text": "no hash at all\n", "short": forged[:20], "cut behind the hash": lie, "cut in the time": forged[:len(forged)-4],
		"hash of odd length": forged[1:], "hash too short": forged[2:], "no hex": "x" + forged[1:], "bytes": "\x00\xff\n\n", "more behind": strings.TrimSpace(forged) + " 7",
	} {
		write(t, kept, text)
		if got := hashOf(t, path); got != sumOf("weights") {
			t.Errorf("damaged by %s: hash %s", name, got)
		}
		if b, _ := os.ReadFile(kept); string(b) != line {
			t.Errorf("damaged by %s: %q is kept", name, b)
		}
	}
	alone(t, dir, "m.gguf", "m.gguf.percached-sum")
}

// Where nothing can be written the hash is computed each time.
func TestWeightsHashNotKept(t *testing.T) {
	t.Run("a folder in its place", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "m.gguf")
		write(t, path, "weights")
		if err := os.Mkdir(path+".percached-sum", 0o700); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := hashOf(t, path); got != sumOf("weights") {
				t.Errorf("hash %s", got)
			}
		}
		alone(t, dir, "m.gguf", "m.gguf.percached-sum")
	})
	t.Run("a folder that cannot be written", func(t *testing.T) {
		if os.Getuid() == 0 {
			t.Skip("root writes everywhere")
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "m.gguf")
		write(t, path, "weights")
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		if got := hashOf(t, path); got != sumOf("weights") {
			t.Errorf("hash %s", got)
		}
		alone(t, dir, "m.gguf")
	})
}

// The fingerprint names what shapes tensors: settings and weights, and neither
// where the file lies nor how much of the machine the engine may use.
func TestFingerprint(t *testing.T) {
	of := func(o gguf.RandomOptions, change func(*Config)) string {
		e := open(t, o, func(c *Config) {
			c.FlashAttn = "on"
			if change != nil {
				change(c)
			}
		})
		defer e.Close()
		return e.Info().Fingerprint
	}
	base := of(tiny, nil)
	for name, change := range map[string]func(*Config){
		"again":                  func(*Config) {},
		"a copy elsewhere":       func(c *Config) { c.Model = copyOf(t, c.Model) },
		"another context":        func(c *Config) { c.Context = 512 },
		"two threads":            func(c *Config) { c.Threads = 2 },
		"another queue":          func(c *Config) { c.Queue = 3 },
		"pieces of another size": func(c *Config) { c.piece = 5000 },
	} {
		if got := of(tiny, change); got != base {
			t.Errorf("%s: %s, not %s", name, got, base)
		}
	}
	seen := map[string]string{base: "the first"}
	differs := func(name, got string) {
		if other, twice := seen[got]; twice {
			t.Errorf("%s has the fingerprint of %s", name, other)
		}
		seen[got] = name
	}
	for name, change := range map[string]func(*Config){
		"keys in q8_0":       func(c *Config) { c.KeyType = "q8_0" },
		"values in q8_0":     func(c *Config) { c.ValueType = "q8_0" },
		"both in q4_0":       func(c *Config) { c.KeyType, c.ValueType = "q4_0", "q4_0" },
		"no flash attention": func(c *Config) { c.FlashAttn = "off" },
		"split":              func(c *Config) { c.Split = 33 },
	} {
		differs(name, of(tiny, change))
	}
	// Auto is what it comes to.
	for _, value := range []string{"f16", "q8_0"} {
		e := open(t, tiny, func(c *Config) { c.FlashAttn, c.ValueType = "auto", value })
		flash := map[bool]string{true: "on", false: "off"}[e.Info().FlashAttn]
		if got := of(tiny, func(c *Config) { c.FlashAttn, c.ValueType = flash, value }); got != e.Info().Fingerprint {
			t.Errorf("values in %s: auto has another fingerprint than %s, which it is", value, flash)
		}
	}
	other := tiny
	other.Seed++
	differs("other weights", of(other, nil))
	nearly := copyOf(t, randomModel(t, tiny))
	b, err := os.ReadFile(nearly)
	if err != nil {
		t.Fatal(err)
	}
	write(t, nearly, string(weight("blk.3.ffn_down.weight", 0.125)(t, b)))
	differs("one weight changed", of(tiny, func(c *Config) { c.Model = nearly }))
}
