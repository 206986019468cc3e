package llamacpp

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/gguf"
)

// A damage is what becomes of a sound model file.
type damage func(t *testing.T, sound []byte) []byte

func contents(text string) damage {
	return func(*testing.T, []byte) []byte { return []byte(text) }
}

func cutAt(n int) damage {
	return func(_ *testing.T, b []byte) []byte { return b[:(len(b)+n)%len(b)] }
}

// overwrite puts v n bytes behind the first place of a text.
func overwrite(text string, n int, v any) damage {
	return func(t *testing.T, b []byte) []byte {
		t.Helper()
		i := bytes.Index(b, []byte(text))
		if i < 0 {
			t.Fatalf("the model does not hold %q", text)
		}
		var w bytes.Buffer
		if s, ok := v.(string); ok {
			w.WriteString(s)
		} else if err := binary.Write(&w, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
		copy(b[i+len(text)+n:], w.Bytes())
		return b
	}
}

// value overwrites a number of the metadata, behind its key and kind.
func value(key string, v uint32) damage { return overwrite(key, 4, v) }

func renamed(from, to string) damage { return overwrite(from, -len(from), to) }

// added puts a number or a text into the metadata, and one more behind it that
// fills up what alignment wants.
func added(key string, v any) damage {
	return func(_ *testing.T, b []byte) []byte {
		var w bytes.Buffer
		name := func(s string) {
			binary.Write(&w, binary.LittleEndian, uint64(len(s)))
			w.WriteString(s)
		}
		name(key)
		switch v := v.(type) {
		case uint32:
			binary.Write(&w, binary.LittleEndian, []uint32{uint32(gguf.KindUint32), v})
		case string:
			binary.Write(&w, binary.LittleEndian, uint32(gguf.KindString))
			name(v)
		}
		fill := 32 - (w.Len()+16)%32
		name(strings.Repeat("x", fill))
		binary.Write(&w, binary.LittleEndian, []uint32{uint32(gguf.KindUint32), 0})
		const header = 24
		binary.LittleEndian.PutUint64(b[16:], binary.LittleEndian.Uint64(b[16:])+2)
		return append(append(bytes.Clone(b[:header]), w.Bytes()...), b[header:]...)
	}
}

// weight overwrites the first value of a tensor.
func weight(name string, v float32) damage {
	return func(t *testing.T, b []byte) []byte {
		f, err := gguf.Parse(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		x, ok := f.Tensor(name)
		if !ok {
			t.Fatalf("there is no tensor %s", name)
		}
		binary.LittleEndian.PutUint32(b[x.Offset:], math.Float32bits(v))
		return b
	}
}

var badModels = []struct {
	name   string
	damage damage
	kind   fault.Kind
	want   string // what the message must name
}{
	{"empty", contents(""), fault.Invalid, "the file is empty"},
	{"text", contents("Dear Sir or Madam, this is no model."), fault.Invalid, `begins with "Dear"`},
	{"web page", contents("<!DOCTYPE html><html>404</html>"), fault.Invalid, "a web page: the download failed"},
	{"safetensors", contents("\x40\x01\x00\x00\x00\x00\x00\x00{\"a\":{}}"), fault.Invalid, "a safetensors file"},
	{"zip", contents("PK\x03\x04"), fault.Invalid, "a zip archive"},
	{"cut in the header", cutAt(10), fault.Invalid, "ends at byte 10"},
	{"cut in the metadata", cutAt(500), fault.Invalid, "ends at byte 500"},
	{"cut in the directory", cutAt(30000), fault.Invalid, "the whole file of 30000 bytes"},
	{"cut in the tensors", cutAt(700000), fault.Invalid, "the file has 700000 bytes"},
	{"cut by one byte", cutAt(-1), fault.Invalid, `tensor "blk.3.ffn_down.weight" ends at byte`},
	{"magic", renamed("GGUF", "GGUX"), fault.Invalid, `begins with "GGUX"`},
	{"version", overwrite("GGUF", 0, uint32(9)), fault.Unsupported, "GGUF version 9"},
	{"tensors without end", overwrite("GGUF", 4, uint64(1)<<60), fault.Invalid, "claims 1152921504606846976 tensors"},
	{"keys without end", overwrite("GGUF", 12, uint64(1)<<60), fault.Invalid, "claims 1152921504606846976 metadata keys"},
	{"text without end", overwrite("general.architecture", 4, uint64(1)<<60), fault.Invalid, `"general.architecture"`},
	{"tokens without end", overwrite("tokenizer.ggml.tokens", 8, uint64(1)<<60), fault.Invalid, `"tokenizer.ggml.tokens"`},
	{"vocabulary alone", overwrite("GGUF", 4, uint64(0)), fault.Invalid, "it is a vocabulary alone"},
	{"no architecture", renamed("general.architecture", "general.architexture"), fault.Invalid, "general.architecture is missing"},
	{"unknown architecture", overwrite("general.architecture", 12, "lloma"), fault.Unsupported, `architecture "lloma"`},
	{"another architecture", overwrite("general.architecture", 12, "qwen2"), fault.Invalid, "qwen2."},
	{"part of a model", added("split.count", uint32(3)), fault.Unsupported, "one of 3 files"},
	{"adapter", added("general.type", "adapter"), fault.Unsupported, "a LoRA adapter"},
	{"no layers", value("llama.block_count", 0), fault.Invalid, "llama.block_count"},
	{"a layer too many", value("llama.block_count", 5), fault.Invalid, "blk.4."},
	{"layers without end", value("llama.block_count", 1<<31), fault.Invalid, "llama.block_count is 2147483648"},
	{"no context", value("llama.context_length", 0), fault.Invalid, "llama.context_length"},
	{"no width", value("llama.embedding_length", 0), fault.Invalid, "llama.embedding_length"},
	{"no heads", value("llama.attention.head_count", 0), fault.Invalid, "llama.attention.head_count"},
	{"K/V heads that do not divide", value("llama.attention.head_count_kv", 3), fault.Invalid, "llama.attention.head_count_kv, which is 3"},
	{"rotation of more than a head", value("llama.rope.dimension_count", 64), fault.Invalid, "llama.rope.dimension_count is 64"},
	{"no tensor", renamed("blk.2.attn_q.weight", "blk.2.attn_x.weight"), fault.Invalid, `"blk.2.attn_q.weight" is missing`},
	{"shape turned", overwrite("blk.1.attn_k.weight", 4, []uint64{64, 128}), fault.Invalid, `"blk.1.attn_k.weight"`},
	{"type unknown", overwrite("blk.1.attn_k.weight", 20, uint32(99)), fault.Invalid, "type 99"},
	{"a gap between tensors", overwrite("output_norm.weight", 12, uint32(gguf.F16)), fault.Unsupported, `tensor "blk.0.attn_norm.weight" starts at byte`},
	{"tensors on each other", overwrite("blk.1.attn_k.weight", 24, uint64(0)), fault.Invalid, "overlap"},
	{"begin token outside", value("tokenizer.ggml.bos_token_id", 5000), fault.Invalid, "tokenizer.ggml.bos_token_id"},
	{"weights not numbers", weight("output_norm.weight", float32(math.NaN())), fault.Unsupported, "scores that are not numbers"},
}

// tidy takes what differs from run to run out of an error.
func tidy(err error, dir string) string { return strings.ReplaceAll(err.Error(), dir, "") }

// Every bad model is refused with its own reason, and an engine at work beside
// notices nothing.
func TestRefuseModels(t *testing.T) {
	e := open(t, tiny, nil)
	p := newNumbers(11).prompt(percached.Sequential, 20, 30, 9)
	before := generate(t, e, p)
	sound, err := os.ReadFile(randomModel(t, tiny))
	if err != nil {
		t.Fatal(err)
	}
	c := testConfig()
	seen := map[string]string{}
	refused := func(t *testing.T, kind fault.Kind, want string) {
		t.Helper()
		got, err := OpenEngine(context.Background(), c, NewGate())
		if err == nil {
			got.Close()
			t.Fatal("it was taken")
		}
		text := tidy(err, filepath.Dir(c.Model))
		if !strings.Contains(text, want) || fault.KindOf(err) != kind {
			t.Errorf("got  %v: %s\nwant %v: %s", fault.KindOf(err), text, kind, want)
		}
		if other, twice := seen[text]; twice {
			t.Errorf("the reason is that of %q: %s", other, text)
		}
		seen[text] = t.Name()
	}
	for _, m := range badModels {
		t.Run(m.name, func(t *testing.T) {
			c.Model = filepath.Join(t.TempDir(), "model.gguf")
			if err := os.WriteFile(c.Model, m.damage(t, bytes.Clone(sound)), 0o600); err != nil {
				t.Fatal(err)
			}
			refused(t, m.kind, m.want)
		})
	}
	t.Run("embedding model", func(t *testing.T) {
		c.Model = randomModel(t, gguf.RandomOptions{Architecture: "bert", Seed: 1})
		refused(t, fault.Unsupported, "is an embedding model")
	})
	t.Run("folder", func(t *testing.T) {
		c.Model = t.TempDir()
		refused(t, fault.Invalid, "is not a file but a folder")
	})
	t.Run("missing", func(t *testing.T) {
		c.Model = filepath.Join(t.TempDir(), "none.gguf")
		refused(t, fault.NotFound, "no such file")
	})
	t.Run("not ours to read", func(t *testing.T) {
		if os.Getuid() == 0 {
			t.Skip("root reads everything")
		}
		c.Model = filepath.Join(t.TempDir(), "model.gguf")
		if err := os.WriteFile(c.Model, sound, 0o200); err != nil {
			t.Fatal(err)
		}
		refused(t, fault.Unavailable, "permission denied")
	})
	equal(t, "beside and after all of it", before, generate(t, e, p))
}

// What the damages are made of does no harm by itself.
func TestRefuseModelsControl(t *testing.T) {
	sound, err := os.ReadFile(randomModel(t, tiny))
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]damage{
		"a key more":    added("general.type", "model"),
		"a weight more": weight("output_norm.weight", 1.25),
	} {
		c := testConfig()
		c.Model = filepath.Join(t.TempDir(), "model.gguf")
		if err := os.WriteFile(c.Model, d(t, bytes.Clone(sound)), 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := OpenEngine(context.Background(), c, NewGate())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		e.Close()
	}
}
