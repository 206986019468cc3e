package gguf

import (
	"math"
	"slices"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

const opCheck = "gguf: check"

// CheckModel finds everything in the file that makes llama.cpp (as in ollama v0.17.4)
// refuse it without a clear reason, end the process, or compute nonsense. It returns the
// first fault as one sentence. It reads no tensor values. It checks shapes against the
// hyperparameters for llama, qwen2, qwen3, gemma3, bert and nomic-bert; for other
// architectures it checks what all have in common.
func (f *File) CheckModel() error {
	c := &checker{File: f, arch: f.Architecture()}
	for _, step := range []func(){
		c.wholeModel, c.knownArchitecture, c.kinds, c.measures, c.experts, c.heads, c.rotation, c.numbers,
		c.pooling, c.tokens, c.tokenTypes, c.specialTokens, c.tokenizerParts, c.layout, c.embedding, c.shapes,
	} {
		if step(); c.err != nil {
			return c.err
		}
	}
	return nil
}

// checker holds the values that earlier checks found for later ones. After measures and
// heads they are small enough that products do not overflow.
type checker struct {
	*File
	arch string
	err  error

	layers, width, context, ff uint64
	nHeads, kv, headK, headV   uint64
	rot, nExperts, vocab       uint64
	byText                     map[string]int // tokens
}

func (c *checker) invalid(format string, args ...any) {
	if c.err == nil {
		c.err = fault.New(fault.Invalid, opCheck, format, args...)
	}
}

func (c *checker) unsupported(format string, args ...any) {
	if c.err == nil {
		c.err = fault.New(fault.Unsupported, opCheck, format, args...)
	}
}

// wholeModel refuses partial models and other files.
func (c *checker) wholeModel() {
	if n, ok := c.Uint("split.count"); ok && n > 1 {
		c.unsupported("this is one of %d files that the model was split into: merge them (llama-gguf-split --merge)", n)
	}
	if kind, ok := c.Str("general.type"); ok {
		switch kind {
		case "adapter":
			c.unsupported("this is a LoRA adapter, not a model")
		case "mmproj":
			c.unsupported("this is the image part of a model, not a language model")
		}
	}
}

func (c *checker) knownArchitecture() {
	switch {
	case c.arch == "" && c.Has("general.architecture"):
		c.invalid("general.architecture is a %s and must be a name", c.meta["general.architecture"].typeName())
	case c.arch == "":
		c.invalid("general.architecture is missing: the file does not say what model it is")
	case c.arch == "clip":
		c.unsupported("architecture clip is the image part of a model, not a language model")
	case !slices.Contains(llamaArchitectures(), c.arch):
		c.unsupported("architecture %q is not known to this llama.cpp", c.arch)
	}
}

// llamaArchitectures are those that this llama.cpp can run.
func llamaArchitectures() []string {
	return strings.Fields(`afmoe apertus arcee arctic arwkv7 baichuan bailingmoe bailingmoe2 bert bitnet bloom
chameleon chatglm codeshell cogvlm cohere2 command-r dbrx deci deepseek deepseek2 dots1 dream ernie4_5
ernie4_5-moe exaone exaone4 falcon falcon-h1 gemma gemma-embedding gemma2 gemma3 gemma3n glm4 glm4moe gpt-oss
gpt2 gptneox granite granitehybrid granitemoe grok grovemoe hunyuan-dense hunyuan-moe internlm2 jais jamba
jina-bert-v2 jina-bert-v3 lfm2 lfm2moe llada llada-moe llama llama4 mamba mamba2 minicpm minicpm3 minimax-m2
mistral3 mpt nemotron nemotron_h nemotron_h_moe neo-bert nomic-bert nomic-bert-moe olmo olmo2 olmoe openelm
orion pangu-embedded phi2 phi3 phimoe plamo plamo2 plm qwen qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3next
qwen3vl qwen3vlmoe refact rnd1 rwkv6 rwkv6qwen2 rwkv7 seed_oss smallthinker smollm3 solar stablelm starcoder
starcoder2 t5 t5encoder wavtokenizer-dec xverse`)
}

// headless architectures have no attention heads in some or all layers.
func (c *checker) headless() bool {
	return slices.Contains(strings.Fields(`mamba mamba2 rwkv6 rwkv6qwen2 rwkv7 arwkv7 jamba falcon-h1 plamo2
granitehybrid lfm2 lfm2moe nemotron_h nemotron_h_moe qwen3next wavtokenizer-dec deci`), c.arch)
}

// layout refuses what GGUF allows but llama.cpp does not.
func (c *checker) layout() {
	if len(c.tensors) == 0 {
		c.invalid("the file holds no tensors: it is a vocabulary alone")
		return
	}
	want := c.dataOffset
	align := int64(c.alignment)
	for i := range c.tensors {
		t := &c.tensors[i]
		if t.Offset != want {
			c.unsupported("tensor %q starts at byte %d and not at %d right behind the one before: llama.cpp wants them without gaps, in the order of the directory", t.Name, t.Offset, want)
			return
		}
		want = (t.Offset + t.Size + align - 1) &^ (align - 1)
	}
}

// embedding checks the token embeddings against the vocabulary.
func (c *checker) embedding() {
	if c.arch == "wavtokenizer-dec" {
		return
	}
	const name = "token_embd.weight"
	t, ok := c.Tensor(name)
	switch {
	case !ok:
		c.invalid("tensor %q is missing", name)
	case len(t.Dims) < 2 || t.Dims[0] != c.width:
		c.invalid("tensor %q has rows of %d values, but the model is %d wide (%s)", name, t.Dims[0], c.width, c.Key("embedding_length"))
	case t.Dims[1] != c.vocab:
		c.invalid("tensor %q has %d rows, but the tokenizer has %d tokens", name, t.Dims[1], c.vocab)
	}
	c.weightType(t)
}

// weightType refuses types that llama.cpp cannot multiply with.
func (c *checker) weightType(t Tensor) {
	if l, _ := layoutOf(t.Type); !l.weight && c.err == nil {
		c.invalid("tensor %q is %v, which llama.cpp cannot compute with", t.Name, t.Type)
	}
}

// kindWants is the kind that llama.cpp requires for each value; it accepts no other
// width. Names without a leading dot are the architecture's own.
func kindWants() map[string]Kind {
	wants := map[string]Kind{
		"tokenizer.ggml.model": KindString, "tokenizer.ggml.pre": KindString, "general.name": KindString,
		"rope.scaling.type": KindString, "split.count": KindUint16,
	}
	for _, k := range strings.Fields(`general.file_type tokenizer.ggml.token_type_count
tokenizer.ggml.bos_token_id tokenizer.ggml.eos_token_id tokenizer.ggml.eot_token_id tokenizer.ggml.eom_token_id
tokenizer.ggml.unknown_token_id tokenizer.ggml.seperator_token_id tokenizer.ggml.padding_token_id
tokenizer.ggml.mask_token_id tokenizer.ggml.fim_pre_token_id tokenizer.ggml.fim_suf_token_id
tokenizer.ggml.fim_mid_token_id tokenizer.ggml.fim_pad_token_id tokenizer.ggml.fim_rep_token_id
tokenizer.ggml.fim_sep_token_id tokenizer.ggml.prefix_token_id tokenizer.ggml.suffix_token_id
tokenizer.ggml.middle_token_id context_length embedding_length block_count expert_count expert_used_count
expert_group_count expert_group_used_count vocab_size pooling_type attention.key_length attention.value_length
rope.dimension_count rope.scaling.original_context_length attention.sliding_window`) {
		wants[k] = KindUint32
	}
	for _, k := range strings.Fields(`attention.layer_norm_epsilon attention.layer_norm_rms_epsilon
attention.group_norm_epsilon rope.freq_base rope.scale_linear rope.scaling.factor rope.scaling.attn_factor
rope.scaling.yarn_log_multiplier rope.scaling.yarn_ext_factor rope.scaling.yarn_attn_factor
rope.scaling.yarn_beta_fast rope.scaling.yarn_beta_slow logit_scale attn_logit_softcapping
router_logit_softcapping final_logit_softcapping residual_scale embedding_scale expert_weights_scale
expert_group_scale attention.scale attention.output_scale attention.clamp_kqv attention.max_alibi_bias
attention.temperature_scale`) {
		wants[k] = KindFloat32
	}
	for _, k := range strings.Fields(`tokenizer.ggml.add_bos_token tokenizer.ggml.add_eos_token
tokenizer.ggml.add_sep_token tokenizer.ggml.add_space_prefix tokenizer.ggml.remove_extra_whitespaces
attention.causal rope.scaling.finetuned expert_weights_norm use_parallel_residual`) {
		wants[k] = KindBool
	}
	return wants
}

func (c *checker) kinds() {
	wants := kindWants()
	for _, key := range c.keys {
		v := c.meta[key]
		want, ok := wants[key]
		if !ok {
			want, ok = wants[strings.TrimPrefix(key, c.arch+".")]
			ok = ok && strings.HasPrefix(key, c.arch+".")
		}
		if ok && v.kind != want {
			c.invalid("%s is %s %s and must be a %s", key, article(v.typeName()), v.typeName(), want)
			return
		}
		if ok && want == KindFloat32 {
			if x := number(v.kind, v.raw); math.IsNaN(x) || math.IsInf(x, 0) {
				c.invalid("%s is %v and must be a number", key, x)
				return
			}
		}
	}
	if key := c.Key("classifier.output_labels"); c.meta[key] != nil {
		if v := c.meta[key]; v.kind == KindArray && v.elem != KindString {
			c.invalid("%s is an %s and must be one of strings", key, v.typeName())
		}
	}
}

func article(name string) string {
	if strings.ContainsRune("aeio", rune(name[0])) { // not an uint
		return "an"
	}
	return "a"
}

// perLayer reads a value given once for all layers or once for each. def is the default.
func (c *checker) perLayer(suffix string, def []uint64) []uint64 {
	key := c.Key(suffix)
	v := c.meta[key]
	if v == nil || c.err != nil {
		return def
	}
	out := make([]uint64, c.layers)
	switch {
	case v.kind == KindUint32:
		u, _ := c.Uint(key)
		for i := range out {
			out[i] = u
		}
	case v.kind == KindArray && (v.elem == KindUint32 || v.elem == KindInt32):
		if uint64(v.n) != c.layers {
			c.invalid("%s has %d elements, but the model has %d layers", key, v.n, c.layers)
			return def
		}
		for i := range out {
			u, negative := integer(v.elem, v.raw[4*i:])
			if negative {
				c.invalid("%s of layer %d is %d", key, i, int64(u))
				return def
			}
			out[i] = u
		}
	default:
		c.invalid("%s is %s %s and must be a uint32, or an array of them", key, article(v.typeName()), v.typeName())
	}
	return out
}
