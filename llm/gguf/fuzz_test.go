package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// micro is a sound llama of a few KB, so that the fuzzer gets far.
func micro() *Builder {
	b := &Builder{}
	b.Set("general.architecture", "llama")
	b.Set("general.alignment", uint32(32))
	for _, p := range []struct {
		key string
		n   uint32
	}{
		{"context_length", 64},
		{"embedding_length", 32},
		{"block_count", 1},
		{"feed_forward_length", 32},
		{"attention.head_count", 2},
		{"attention.head_count_kv", 1},
		{"rope.dimension_count", 16},
	} {
		b.Set("llama."+p.key, p.n)
	}
	b.Set("llama.attention.layer_norm_rms_epsilon", float32(1e-5))
	b.Set("tokenizer.ggml.model", "gpt2")
	b.Set("tokenizer.ggml.tokens", []string{"a", "b", "ab", "Ġ", "<|end|>"})
	b.Set("tokenizer.ggml.token_type", []int32{1, 1, 1, 1, 3})
	b.Set("tokenizer.ggml.scores", []float32{0, 0, 0, 0, 0})
	b.Set("tokenizer.ggml.merges", []string{"a b"})
	b.Set("tokenizer.ggml.bos_token_id", uint32(4))
	b.Set("tokenizer.ggml.eos_token_id", uint32(4))
	m := maker{Builder: b, shape: shape{arch: "llama", layers: 1, width: 32, heads: 2, kv: 1, ff: 32, vocab: 5}, typ: Q4_0}
	m.decoder()
	return b
}

func seeds(t testing.TB) map[string][]byte {
	out := map[string][]byte{"micro": encode(t, micro()), "small": encode(t, small()), "empty": {}, "magic": []byte("GGUF")}
	for i, change := range []edit{
		set("tokenizer.ggml.model", "llama"), set("tokenizer.ggml.model", "bert"), set("general.architecture", "bert"),
		set("llama.attention.head_count", []uint32{2}), set("llama.block_count", uint32(2)),
		set("llama.expert_count", uint32(2)), noTensor("output_norm.weight"), without("tokenizer.ggml.merges"),
	} {
		b := micro()
		change(b)
		out[fmt.Sprintf("edit%d", i)] = encode(t, b)
	}
	for i, n := range []int{100, 500, 900, 1400} {
		data := bytes.Clone(out["micro"])
		binary.LittleEndian.PutUint64(data[n:], 1<<62)
		out[fmt.Sprintf("huge%d", i)] = data
		out[fmt.Sprintf("cut%d", i)] = data[:n]
	}
	return out
}

// FuzzRead: whatever the bytes, reading and checking end soon and without panic.
func FuzzRead(f *testing.F) {
	for _, data := range seeds(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, key := range file.Keys() {
			file.Uint(key)
			file.Int(key)
			file.Float(key)
			file.Bool(key)
			file.Str(key)
			file.Ints(key)
			file.Floats(key)
			if list, ok := file.Strs(key); ok && len(list) != file.Len(key) {
				t.Errorf("%s: %d strings, and Len says %d", key, len(list), file.Len(key))
			}
		}
		file.Tokenizer()
		for _, tn := range file.Tensors() {
			if tn.Offset < file.dataOffset || tn.Offset+tn.Size > file.Size() {
				t.Errorf("tensor %q lies outside the data", tn.Name)
			}
			if _, err := file.Values(tn.Name); err != nil && decoder(tn.Type) != nil {
				t.Errorf("tensor %q: %v", tn.Name, err)
			}
		}
		file.CheckModel()
	})
}

func TestMicroIsSound(t *testing.T) {
	data := encode(t, micro())
	f, err := Parse(bytes.NewReader(data), int64(len(data)))
	if err == nil {
		err = f.CheckModel()
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := os.Getenv("GGUF_SEEDS") // writes the seed corpus anew
	if dir == "" {
		return
	}
	for name, data := range seeds(t) {
		text := fmt.Sprintf("go test fuzz v1\n[]byte(%q)\n", data)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
