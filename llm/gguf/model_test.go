package gguf

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/fault"
)

// edit changes a sound model.
type edit func(b *Builder)

func set(key string, v any) edit {
	return func(b *Builder) {
		for i := range b.pairs {
			if b.pairs[i].key == key {
				b.pairs[i].value = v
				return
			}
		}
		b.Set(key, v)
	}
}

func without(keys ...string) edit {
	return func(b *Builder) {
		b.pairs = slices.DeleteFunc(b.pairs, func(p pair) bool { return slices.Contains(keys, p.key) })
	}
}

// changed edits a list of the metadata.
func changed[T any](key string, change func([]T) []T) edit {
	return func(b *Builder) {
		for i := range b.pairs {
			if b.pairs[i].key == key {
				b.pairs[i].value = change(slices.Clone(b.pairs[i].value.([]T)))
			}
		}
	}
}

func replaced[T any](i int, v T) func([]T) []T {
	return func(l []T) []T {
		l[i] = v
		return l
	}
}

func noTensor(name string) edit {
	return func(b *Builder) {
		b.tensors = slices.DeleteFunc(b.tensors, func(t pending) bool { return t.name == name })
	}
}

func tensor(name string, t Type, dims ...uint64) edit {
	return func(b *Builder) {
		n := &Builder{}
		n.Tensor(name, t, dims, func([]byte, int64) error { return nil })
		i := slices.IndexFunc(b.tensors, func(t pending) bool { return t.name == name })
		if i < 0 {
			b.tensors = append(b.tensors, n.tensors...)
			return
		}
		b.tensors[i] = n.tensors[0]
	}
}

// models are sound ones to be damaged, made once: training merges takes time.
func models(t testing.TB) func(arch string, edits ...edit) *Builder {
	made := map[string]*Builder{}
	return func(arch string, edits ...edit) *Builder {
		arch, tokenizer, _ := strings.Cut(arch, "+")
		id := arch + tokenizer
		if made[id] == nil {
			b, err := randomModel(RandomOptions{Architecture: arch, Tokenizer: tokenizer, Type: "f16", Context: 128})
			if err != nil {
				t.Fatal(err)
			}
			made[id] = b
		}
		b := &Builder{pairs: slices.Clone(made[id].pairs), tensors: slices.Clone(made[id].tensors), keys: maps.Clone(made[id].keys)}
		for _, e := range edits {
			e(b)
		}
		return b
	}
}

func edits(e ...edit) []edit { return e }

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

func TestCheckModel(t *testing.T) {
	const tg = "tokenizer.ggml."
	tiles := func(n int, v uint32) []uint32 { return slices.Repeat([]uint32{v}, n) }
	// Queries of a llama may be wider than it is.
	wide := func(b *Builder) {
		set("llama.attention.head_count", uint32(8))(b)
		for i := range 4 {
			tensor(fmt.Sprintf("blk.%d.attn_q.weight", i), F16, 128, 256)(b)
			tensor(fmt.Sprintf("blk.%d.attn_output.weight", i), F16, 256, 128)(b)
		}
	}
	t5 := set(tg+"model", "t5")
	// As in the models that there are.
	rwkv := func(b *Builder) {
		set(tg+"model", "rwkv")(b)
		changed(tg+"tokens", func(l []string) []string {
			for i := range 256 {
				l[i] = fmt.Sprintf(`\x%02x`, i)
				if i >= ' ' && i <= '~' {
					l[i] = string(rune(i))
				}
			}
			l['\t'], l['\n'], l['\r'], l['\\'] = `\t`, `\n`, `\r`, `\\`
			return l
		})(b)
	}
	gemma2 := func(b *Builder) { // not an architecture whose tensors are known here
		for key, v := range map[string]any{
			"general.architecture": "gemma2", "gemma2.block_count": uint32(6), "gemma2.context_length": uint32(128), "gemma2.embedding_length": uint32(128),
			"gemma2.feed_forward_length": uint32(256), "gemma2.attention.head_count": uint32(4), "gemma2.attention.key_length": uint32(32),
		} {
			set(key, v)(b)
		}
	}
	made := models(t)
	for i, c := range []struct {
		arch  string
		edits []edit
		kind  fault.Kind
		want  string
	}{
		{"llama", nil, 0, ""},
		{"llama+spm", nil, 0, ""},
		{"qwen2", nil, 0, ""},
		{"qwen3", nil, 0, ""},
		{"gemma3", nil, 0, ""},
		{"bert", nil, 0, ""},
		{"llama", edits(without("general.architecture")), fault.Invalid, "general.architecture is missing"},
		{"llama", edits(set("general.architecture", uint32(1))), fault.Invalid, "general.architecture is a uint32 and must be a name"},
		{"llama", edits(set("general.architecture", "llama9")), fault.Unsupported, `architecture "llama9" is not known to this llama.cpp`},
		{"llama", edits(set("general.architecture", "gptj")), fault.Unsupported, `architecture "gptj" is not known`},
		{"llama", edits(set("general.architecture", "clip")), fault.Unsupported, "the image part of a model"},
		{"llama", edits(set("general.type", "adapter")), fault.Unsupported, "this is a LoRA adapter, not a model"},
		{"llama", edits(set("split.count", uint16(3))), fault.Unsupported, "one of 3 files that the model was split into: merge them"},
		{"llama", edits(set("general.name", uint32(7))), fault.Invalid, "general.name is a uint32 and must be a string"},
		{"llama", edits(set("llama.block_count", uint64(4))), fault.Invalid, "llama.block_count is a uint64 and must be a uint32"},
		{"llama", edits(without("llama.block_count")), fault.Invalid, "llama.block_count is missing"},
		{"llama", edits(set("llama.block_count", uint32(0))), fault.Invalid, "llama.block_count is 0 and must be between 1 and 512"},
		{"llama", edits(set("llama.block_count", uint32(513))), fault.Invalid, "llama.block_count is 513 and must be between 1 and 512"},
		{"llama", edits(set("llama.block_count", uint32(5))), fault.Invalid, `tensor "blk.4.attn_norm.weight" is missing`},
		{"llama", edits(set("llama.block_count", uint32(3))), fault.Unsupported, `tensor "blk.3.attn_norm.weight" is not part of a llama`},
		{"llama", edits(without("llama.context_length")), fault.Invalid, "llama.context_length is missing"},
		{"llama", edits(set("llama.context_length", uint32(0))), fault.Invalid, "llama.context_length is 0"},
		{"llama", edits(without("llama.embedding_length")), fault.Invalid, "llama.embedding_length is missing"},
		{"llama", edits(set("llama.embedding_length", uint32(0))), fault.Invalid, "llama.embedding_length is 0"},
		{"llama", edits(set("llama.embedding_length", uint32(130)), without("llama.attention.key_length")), fault.Invalid, "llama.embedding_length is 130 and does not divide by the 4 heads"},
		{"llama", edits(set("llama.embedding_length", uint32(256))), fault.Invalid, `tensor "token_embd.weight" has rows of 128 values, but the model is 256 wide`},
		{"llama", edits(without("llama.attention.head_count")), fault.Invalid, "llama.attention.head_count is missing or 0"},
		{"llama", edits(set("llama.attention.head_count", uint32(0))), fault.Invalid, "llama.attention.head_count is missing or 0"},
		{"llama", edits(set("llama.attention.head_count", tiles(3, 4))), fault.Invalid, "llama.attention.head_count has 3 elements, but the model has 4 layers"},
		{"llama", edits(set("llama.attention.head_count", []float32{4, 4, 4, 4})), fault.Invalid, "llama.attention.head_count is an array of 4 float32 and must be a uint32, or an array of them"},
		{"llama", edits(set("llama.attention.head_count", []int32{4, 4, -4, 4})), fault.Invalid, "llama.attention.head_count of layer 2 is -4"},
		{"llama", edits(set("llama.attention.head_count", []uint32{4, 4, 2, 4})), fault.Unsupported, "layers 0 and 2 of a llama differ in heads or width"},
		{"llama", edits(set("llama.attention.head_count_kv", uint32(0))), fault.Invalid, "llama.attention.head_count_kv is 0"},
		{"llama", edits(set("llama.attention.head_count_kv", uint32(3))), fault.Invalid, "llama.attention.head_count is 4 and does not divide by llama.attention.head_count_kv, which is 3"},
		{"llama", edits(set("llama.attention.head_count_kv", uint32(1))), fault.Invalid, `tensor "blk.0.attn_k.weight" is 128 x 64 and must be 128 x 32`},
		{"llama", edits(set("llama.attention.head_count", uint32(1<<31))), fault.Invalid, "that is no model"},
		{"llama", edits(without("llama.feed_forward_length")), fault.Invalid, "llama.feed_forward_length is missing or 0"},
		{"llama", edits(set("llama.feed_forward_length", uint32(128))), fault.Invalid, `tensor "blk.0.ffn_gate.weight" is 128 x 256 and must be 128 x 128`},
		{"llama", edits(set("llama.rope.dimension_count", uint32(16))), fault.Invalid, "llama.rope.dimension_count is 16, but a llama rotates whole heads of 32"},
		{"qwen2", edits(set("qwen2.rope.dimension_count", uint32(16))), fault.Invalid, "qwen2.rope.dimension_count is 16, but a qwen2 rotates whole heads of 32"},
		{"qwen3", edits(set("qwen3.rope.dimension_count", uint32(64))), fault.Invalid, "qwen3.rope.dimension_count is 64, but a head has only 32 values"},
		{"gemma3", edits(set("gemma3.rope.dimension_count", uint32(31))), fault.Invalid, "gemma3.rope.dimension_count is 31 and must be even"},
		{"gemma3", edits(set("gemma3.rope.dimension_count", uint32(64))), fault.Invalid, "gemma3.rope.dimension_count is 64, but a head has only 32 values"},
		{"llama", edits(set("llama.attention.key_length", uint32(0))), fault.Invalid, "llama.attention.key_length is 0"},
		{"llama", edits(set("llama.attention.value_length", uint32(16))), fault.Unsupported, "keys of 32 and values of 16 in one head"},
		{"gemma3", edits(gemma2, set("gemma2.attention.value_length", uint32(32))), 0, ""},
		{"gemma3", edits(gemma2, set("gemma2.attention.value_length", uint32(16))), fault.Unsupported, "keys of 32 and values of 16 in one head: llama.cpp wants them equal in a gemma2"},
		{"qwen2", edits(set("qwen2.attention.head_count", uint32(8))), fault.Invalid, "8 heads of 32 (qwen2.attention.key_length) do not make up the 128 of qwen2.embedding_length"},
		{"bert", edits(set("bert.attention.key_length", uint32(16)), set("bert.attention.value_length", uint32(16))), fault.Invalid, "4 heads of 16 (bert.attention.key_length) do not make up the 128 of bert.embedding_length"},
		{"llama", edits(wide), 0, ""},
		{"llama", edits(wide, tensor("blk.0.attn_q.bias", F32, 128)), fault.Unsupported, `tensor "blk.0.attn_q.bias" is not part of a llama with these hyperparameters`},
		{"llama", edits(tensor("blk.0.attn_q.bias", F32, 128)), 0, ""},
		{"llama", edits(set("llama.rope.freq_base", nan)), fault.Invalid, "llama.rope.freq_base is NaN and must be a number"},
		{"llama", edits(set("llama.rope.freq_base", float32(0))), fault.Invalid, "llama.rope.freq_base is 0 and must be above 0"},
		{"llama", edits(set("llama.rope.scaling.type", "cubic")), fault.Unsupported, `llama.rope.scaling.type is "cubic"; llama.cpp knows none, linear, yarn and longrope`},
		{"llama", edits(set("llama.rope.scaling.factor", float32(-2))), fault.Invalid, "llama.rope.scaling.factor is -2 and must not be negative"},
		{"llama", edits(without("llama.attention.layer_norm_rms_epsilon")), fault.Invalid, "llama.attention.layer_norm_rms_epsilon is missing"},
		{"llama", edits(set("llama.attention.layer_norm_rms_epsilon", nan)), fault.Invalid, "llama.attention.layer_norm_rms_epsilon is NaN and must be a number"},
		{"llama", edits(set("llama.attention.layer_norm_rms_epsilon", inf)), fault.Invalid, "llama.attention.layer_norm_rms_epsilon is +Inf"},
		{"llama", edits(set("llama.attention.layer_norm_rms_epsilon", float32(-1))), fault.Invalid, "llama.attention.layer_norm_rms_epsilon is -1 and must be between 0 and 1"},
		{"llama", edits(set("llama.attention.layer_norm_rms_epsilon", 1e-5)), fault.Invalid, "is a float64 and must be a float32"},
		{"llama", edits(set("llama.expert_count", uint32(513))), fault.Invalid, "llama.expert_count is 513; llama.cpp takes up to 512"},
		{"llama", edits(set("llama.expert_count", uint32(4))), fault.Invalid, "llama.expert_used_count is missing or 0, but there are 4 experts"},
		{"llama", edits(set("llama.expert_used_count", uint32(2))), fault.Invalid, "llama.expert_used_count is 2 of 0 experts"},
		{"llama", edits(set("llama.expert_count", uint32(4)), set("llama.expert_used_count", uint32(2))), fault.Invalid, `tensor "blk.0.ffn_gate_inp.weight" is missing`},
		{"llama", edits(set("llama.expert_group_count", uint32(2))), fault.Invalid, "llama.expert_group_count is 2 for 0 experts"},
		{"bert", edits(set("bert.pooling_type", uint32(9))), fault.Invalid, "bert.pooling_type is 9; known are"},
		{"bert", edits(without("bert.attention.layer_norm_epsilon")), fault.Invalid, "bert.attention.layer_norm_epsilon is missing"},
		{"bert", edits(without("bert.attention.causal")), fault.Invalid, "bert.attention.causal is missing"},
		{"bert", edits(set("bert.context_length", uint32(64))), fault.Invalid, `tensor "position_embd.weight" is 128 x 128 and must be 128 x 64`},
		{"bert", edits(without(tg + "token_type_count")), fault.Invalid, `tensor "token_types.weight" is 128 x 2 and must be 128 x 0`},
		{"llama", edits(set("llama.classifier.output_labels", []int32{1, 2})), fault.Invalid, "llama.classifier.output_labels is an array of 2 int32 and must be one of strings"},

		{"llama", edits(without(tg + "model")), fault.Invalid, "tokenizer.ggml.model is missing: the file has no tokenizer"},
		{"llama", edits(set(tg+"model", "no_vocab")), fault.Unsupported, "the file has no tokenizer"},
		{"llama", edits(set(tg+"model", "tiktoken")), fault.Unsupported, `tokenizer "tiktoken" is not known to this llama.cpp`},
		{"llama", edits(without(tg + "tokens")), fault.Invalid, "tokenizer.ggml.tokens is missing or empty"},
		{"llama", edits(set(tg+"tokens", []string{})), fault.Invalid, "tokenizer.ggml.tokens is missing or empty"},
		{"llama", edits(set(tg+"tokens", []int32{1})), fault.Invalid, "tokenizer.ggml.tokens is an array of 1 int32 and must be an array of strings"},
		{"llama", edits(changed(tg+"tokens", replaced(300, "a"))), fault.Invalid, `tokens 97 and 300 are both "a"`},
		{"llama", edits(changed(tg+"tokens", replaced(300, "a\x00b"))), fault.Invalid, `tokens 97 and 300 are both "a"`},
		{"llama", edits(changed(tg+"tokens", replaced(300, "\xff\xfe"))), 0, ""},
		{"llama", edits(changed(tg+"tokens", replaced(300, "\xf5\x80\x80\x80"))), fault.Invalid, `token 300 is "\xf5\x80\x80\x80": a letter beyond Unicode`},
		{"llama", edits(changed(tg+"tokens", replaced(300, strings.Repeat("x", 4097)))), fault.Invalid, "token 300 is 4097 bytes long, and may be 4096"},
		{"llama", edits(set("general.name", "My Phi-3 tune")), fault.Unsupported, `general.name is "My Phi-3 tune", and llama.cpp wants models called so to have a token "</s>"`},
		{"llama", edits(changed(tg+"tokens", replaced(300, ""))), 0, ""},
		{"llama", edits(set(tg+"token_type", []int32{1, 1, 1})), fault.Invalid, "tokenizer.ggml.token_type has 3 elements for 1024 tokens"},
		{"llama", edits(set(tg+"token_type", []string{"a"})), fault.Invalid, "tokenizer.ggml.token_type is an array of 1 string and must be an array of int32"},
		{"llama", edits(set(tg+"token_type", int32(1))), fault.Invalid, "tokenizer.ggml.token_type is an int32 and must be an array of int32"},
		{"llama", edits(changed(tg+"token_type", replaced(9, int32(77)))), fault.Invalid, "token 9 has type 77; known are 0 to 6"},
		{"llama+spm", edits(set(tg+"scores", []float32{1})), fault.Invalid, "tokenizer.ggml.scores has 1 elements for 1024 tokens"},
		{"llama+spm", edits(set(tg+"scores", []string{"x"})), fault.Invalid, "tokenizer.ggml.scores is an array of 1 string and must be an array of float32"},
		{"llama+spm", edits(changed(tg+"scores", replaced(700, nan))), fault.Invalid, "the score of token 700 is not a number"},
		{"llama+spm", edits(changed(tg+"token_type", replaced(500, tokenByte))), fault.Invalid, "token 500 is of type byte but is called"},
		{"llama+spm", edits(changed(tg+"tokens", replaced(3+10, "newline")), changed(tg+"token_type", replaced(3+10, tokenNormal))), fault.Invalid, "the tokenizer has no token for byte <0x0A>"},
		{"llama+spm", edits(changed(tg+"tokens", replaced(3+200, "other")), changed(tg+"token_type", replaced(3+200, tokenNormal))), fault.Invalid, "the tokenizer has no token for byte <0xC8>"},
		{"llama+spm", edits(t5), 0, ""},
		{"llama+spm", edits(t5, without(tg+"bos_token_id")), fault.Invalid, "tokenizer.ggml.add_bos_token is true, but tokenizer.ggml.bos_token_id is missing"},
		{"llama+spm", edits(t5, set(tg+"precompiled_charsmap", []uint8{0, 0, 0, 0, 'a', 0})), 0, ""},
		{"llama+spm", edits(t5, set(tg+"precompiled_charsmap", []uint8{0, 0, 0, 0, 'a', 'b'})), fault.Invalid, "tokenizer.ggml.precompiled_charsmap does not end in a zero byte"},
		{"llama", edits(rwkv), 0, ""},
		{"llama", edits(rwkv, changed(tg+"tokens", replaced('\\', `\`))), fault.Invalid, `the tokenizer has no token for byte \x5c`},
		{"llama", edits(rwkv, changed(tg+"tokens", replaced(200, `\xC8`))), fault.Invalid, `the tokenizer has no token for byte \xc8`},
		{"bert", edits(changed(tg+"token_type", replaced(500, tokenByte))), fault.Invalid, "token 500 is a byte token, which a bert tokenizer cannot have"},
		{"llama", edits(set(tg+"bos_token_id", uint32(1024))), fault.Invalid, "tokenizer.ggml.bos_token_id is 1024, but there are only 1024 tokens"},
		{"llama", edits(set(tg+"eos_token_id", uint32(math.MaxUint32))), fault.Invalid, "tokenizer.ggml.eos_token_id is 4294967295, but there are only"},
		{"llama", edits(set(tg+"eos_token_id", int32(-1))), fault.Invalid, "tokenizer.ggml.eos_token_id is an int32 and must be a uint32"},
		{"llama", edits(without(tg + "merges")), fault.Invalid, "tokenizer.ggml.merges is missing"},
		{"llama", edits(set(tg+"merges", []int32{1})), fault.Invalid, "tokenizer.ggml.merges is an array of 1 int32 and must be an array of strings"},
		{"llama", edits(changed(tg+"merges", replaced(5, "nospace"))), fault.Invalid, `merge 5 is "nospace", not two pieces with a space between`},
		{"llama", edits(changed(tg+"merges", replaced(5, "end "))), fault.Invalid, `merge 5 is "end ", not two pieces`},

		{"llama", edits(func(b *Builder) { b.tensors = nil }), fault.Invalid, "the file holds no tensors: it is a vocabulary alone"},
		{"llama", edits(noTensor("token_embd.weight")), fault.Invalid, `tensor "token_embd.weight" is missing`},
		{"llama", edits(tensor("token_embd.weight", F16, 128, 1000)), fault.Invalid, `tensor "token_embd.weight" has 1000 rows, but the tokenizer has 1024 tokens`},
		{"llama", edits(tensor("token_embd.weight", I32, 128, 1024)), fault.Invalid, `tensor "token_embd.weight" is i32, which llama.cpp cannot compute with`},
		{"llama", edits(tensor("token_embd.weight", 9, 128, 1024)), fault.Invalid, `tensor "token_embd.weight" is q8_1, which llama.cpp cannot compute with`},
		{"llama", edits(noTensor("output_norm.weight")), fault.Invalid, `tensor "output_norm.weight" is missing`},
		{"llama", edits(tensor("output_norm.weight", F16, 128)), fault.Invalid, `tensor "output_norm.weight" is f16 and must be f32`},
		{"llama", edits(tensor("blk.1.attn_norm.weight", I32, 128)), fault.Invalid, `tensor "blk.1.attn_norm.weight" is i32 and must be f32`},
		{"llama", edits(noTensor("blk.2.ffn_up.weight")), fault.Invalid, `tensor "blk.2.ffn_up.weight" is missing`},
		{"llama", edits(tensor("blk.1.attn_q.weight", F16, 64, 128)), fault.Invalid, `tensor "blk.1.attn_q.weight" is 64 x 128 and must be 128 x 128`},
		{"llama", edits(tensor("blk.1.attn_q.weight", 28, 128, 128)), fault.Invalid, `tensor "blk.1.attn_q.weight" is f64, which llama.cpp cannot compute with`},
		{"llama", edits(tensor("extra.weight", F32, 8)), fault.Unsupported, `tensor "extra.weight" is not part of a llama with these hyperparameters`},
		{"qwen2", edits(tensor("blk.0.attn_q.bias", F16, 128)), fault.Invalid, `tensor "blk.0.attn_q.bias" is f16 and must be f32`},
		{"qwen3", edits(noTensor("blk.0.attn_q_norm.weight")), fault.Invalid, `tensor "blk.0.attn_q_norm.weight" is missing`},
		{"gemma3", edits(noTensor("blk.5.post_ffw_norm.weight")), fault.Invalid, `tensor "blk.5.post_ffw_norm.weight" is missing`},
		{"bert", edits(noTensor("position_embd.weight")), fault.Invalid, `tensor "position_embd.weight" is missing`},
		{"bert", edits(tensor("token_types.weight", F16, 128, 2)), fault.Invalid, `tensor "token_types.weight" is f16 and must be f32`},
		{"bert", edits(noTensor("blk.1.attn_output_norm.bias")), fault.Invalid, `tensor "blk.1.attn_output_norm.bias" is missing`},
	} {
		name := fmt.Sprintf("%03d-%s", i, strings.Map(func(r rune) rune {
			if strings.ContainsRune(` "/<>:;()`, r) {
				return '_'
			}
			return r
		}, c.arch+"-"+c.want))
		t.Run(name, func(t *testing.T) {
			b := made(c.arch, c.edits...)
			path := filepath.Join(t.TempDir(), "m.gguf")
			if dir := os.Getenv("GGUF_KEEP"); dir != "" { // for trying them with llama.cpp
				path = filepath.Join(dir, name[:min(len(name), 80)]+".gguf")
			}
			if err := b.WriteFile(path, nil); err != nil {
				t.Fatal(err)
			}
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			err = f.CheckModel()
			switch {
			case c.want == "" && err != nil, c.want != "" && err == nil,
				err != nil && (!strings.Contains(err.Error(), c.want) || fault.KindOf(err) != c.kind):
				t.Errorf("got  %v: %v\nwant %v: %s", fault.KindOf(err), err, c.kind, c.want)
			case err != nil && !strings.HasPrefix(err.Error(), "gguf: check: "):
				t.Errorf("the error does not name its operation: %v", err)
			}
		})
	}
}

// Gaps are legal GGUF but not for llama.cpp.
func TestCheckGap(t *testing.T) {
	data := encode(t, models(t)("llama"))
	name := "blk.3.ffn_down.weight"
	i := bytes.Index(data, []byte(name)) + len(name) + 4 + 16 + 4
	data[i] += 32
	data = append(data, make([]byte, 64)...)
	f, err := Parse(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.CheckModel(); fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "without gaps") {
		t.Error(err)
	}
}
