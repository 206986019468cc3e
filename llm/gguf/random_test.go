package gguf

import (
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestRandomModelsAreSound(t *testing.T) {
	dir := t.TempDir()
	if keep := os.Getenv("GGUF_RANDOM"); keep != "" { // for trying them with llama.cpp
		dir = keep
	}
	for _, arch := range Architectures() {
		for _, typ := range []string{"f32", "f16", "q8_0", "q4_0"} {
			for _, tokenizer := range []string{"spm", "bpe", "wpm"} {
				name := arch + "-" + typ + "-" + tokenizer
				path := filepath.Join(dir, name+".gguf")
				if err := WriteRandom(path, RandomOptions{Architecture: arch, Type: typ, Tokenizer: tokenizer}); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				f, err := Open(path)
				if err == nil {
					err = f.CheckModel()
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if f.Architecture() != arch || f.Len("tokenizer.ggml.tokens") != 1024 {
					t.Errorf("%s: a %s of %d tokens", name, f.Architecture(), f.Len("tokenizer.ggml.tokens"))
				}
				if q, _ := f.Tensor("blk.0.attn_q.weight"); q.Type.String() != typ {
					t.Errorf("%s: matrices are %v", name, q.Type)
				}
				if f.Size() > 5<<20 {
					t.Errorf("%s takes %d bytes", name, f.Size())
				}
			}
		}
	}
}

// The same options make the same bytes, here and elsewhere.
func TestRandomIsDeterministic(t *testing.T) {
	dir := t.TempDir()
	sum := func(name string, o RandomOptions) string {
		path := filepath.Join(dir, name)
		if err := WriteRandom(path, o); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x", sha256.Sum256(data))[:16]
	}
	for _, typ := range []string{"f32", "f16", "q8_0", "q4_0"} {
		o := RandomOptions{Type: typ, Seed: 7}
		a := sum("a", o)
		before := runtime.GOMAXPROCS(1)
		b := sum("b", o)
		runtime.GOMAXPROCS(before)
		o.Seed = 8
		c := sum("c", o)
		if a != b || a == c {
			t.Errorf("%s: %s, %s again, %s by another seed", typ, a, b, c)
		}
		if want := map[string]string{"f32": "4582aaa22cec56d5", "q4_0": "a66e339d1af31955"}[typ]; want != "" && a != want {
			t.Errorf("%s: %s on this machine, %s elsewhere", typ, a, want)
		}
	}
}

func TestRandomOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	open := func(o RandomOptions) *File {
		t.Helper()
		if err := WriteRandom(path, o); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err == nil {
			err = f.CheckModel()
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	var last, total int64
	f := open(RandomOptions{Architecture: "qwen3", Pooling: "last", Context: 777, ChatTemplate: "none", Name: "me", Progress: func(d, n int64) { last, total = d, n }})
	pooling, _ := f.Uint("qwen3.pooling_type")
	context, _ := f.Uint(f.Key("context_length"))
	if pooling != 3 || context != 777 || f.ChatTemplate() != "" || f.Name() != "me" {
		t.Errorf("pooling %d, context %d, template %q, name %q", pooling, context, f.ChatTemplate(), f.Name())
	}
	if last == 0 || last > total || total != f.Size() {
		t.Errorf("progress ended at %d of %d bytes, the file has %d", last, total, f.Size())
	}
	if f := open(RandomOptions{ChatTemplate: "mine"}); f.ChatTemplate() != "mine" || f.Has("llama.pooling_type") {
		t.Error("the template or the pooling is not as asked")
	}
	for arch, sign := range map[string]string{"llama": "<|im_start|>", "gemma3": "<start_of_turn>"} {
		if f := open(RandomOptions{Architecture: arch}); !strings.Contains(f.ChatTemplate(), sign) {
			t.Errorf("%s: %q", arch, f.ChatTemplate())
		}
	}
	if f := open(RandomOptions{Tokenizer: "spm"}); !strings.Contains(f.ChatTemplate(), "[INST]") || !*f.Tokenizer().AddBOS {
		t.Error("a llama with SPM should speak as Llama 2 and add the begin token")
	}
	for want, o := range map[string]RandomOptions{
		`shape "9b" is not known: there are tiny, 135m, 0.5b, 1b, moe, 3b`: {Shape: "9b"},
		`architecture "mamba" cannot be made`:                              {Architecture: "mamba"},
		`shape 1b is of architecture llama, not qwen3`:                     {Shape: "1b", Architecture: "qwen3"},
		`type "q2" cannot be made: there are f32, f16, q8_0 and q4_0`:      {Type: "q2"},
		`tokenizer "words" cannot be made: there are spm, bpe and wpm`:     {Tokenizer: "words"},
		`pooling "max" cannot be made: there are none, mean, cls and last`: {Pooling: "max"},
		`a context of -1 positions cannot be`:                              {Context: -1},
	} {
		if err := WriteRandom(path, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Every type of a tensor has the same spread, so that a model behaves alike in all.
func TestRandomSpread(t *testing.T) {
	for _, typ := range []string{"f32", "f16", "q8_0", "q4_0"} {
		path := filepath.Join(t.TempDir(), "m.gguf")
		if err := WriteRandom(path, RandomOptions{Type: typ}); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		v, err := f.Values("blk.1.ffn_up.weight")
		if err != nil {
			t.Fatal(err)
		}
		var sum, square float64
		for _, x := range v {
			sum += float64(x)
			square += float64(x) * float64(x)
		}
		n := float64(len(v))
		mean, deviation := sum/n, math.Sqrt(square/n)
		if want := 1 / math.Sqrt(128); math.Abs(mean) > want/50 || math.Abs(deviation-want) > want/50 {
			t.Errorf("%s: mean %.4f, deviation %.4f, want 0 and %.4f", typ, mean, deviation, want)
		}
	}
}

// Merges must lead to tokens, from tokens that are there.
func TestVocabularies(t *testing.T) {
	for _, size := range []int{300, 1024, 49152} {
		for name, make := range map[string]func(int) *vocabulary{"bpe": bpe, "spm": spm, "wpm": wpm} {
			if name != "wpm" && size == 300 && name == "spm" {
				size = 400 // bytes and ASCII alone take 354
			}
			v := make(size)
			if len(v.tokens) != size || len(v.types) != size || len(v.ids) != size {
				t.Errorf("%s of %d has %d tokens, %d types, %d names", name, size, len(v.tokens), len(v.types), len(v.ids))
			}
			seen := map[string]bool{}
			for _, m := range v.merges {
				left, right, _ := strings.Cut(m, " ")
				for _, part := range []string{left, right, left + right} {
					if _, ok := v.ids[part]; !ok {
						t.Errorf("%s: %q of merge %q is no token", name, part, m)
					}
				}
				if seen[m] {
					t.Errorf("%s: merge %q stands twice", name, m)
				}
				seen[m] = true
			}
		}
	}
}
