package gguf

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

const opRandom = "gguf: random"

// RandomOptions describe a random model. The zero value is a tiny llama in f32.
type RandomOptions struct {
	// Shape is one of Shapes; empty is tiny, the only one available for every
	// architecture.
	Shape string
	// Architecture is one of Architectures; empty is the shape's own, llama
	// for tiny.
	Architecture string
	// Type of the matrices: f32, f16, q8_0 or q4_0; empty is f32. Norms and
	// biases are always f32, and so are bert's position and segment tables, as
	// in every real file. A matrix whose rows are not a multiple of 32 falls
	// back from q8_0 and q4_0 to f16.
	Type string
	// Tokenizer is spm, bpe or wpm; empty is what real models of the
	// architecture have: wpm for bert, spm for gemma3, bpe otherwise.
	Tokenizer string
	Seed      uint64
	// ChatTemplate replaces the tokenizer's usual one; "none" leaves it out.
	ChatTemplate string
	// Context replaces the shape's number of positions; 0 keeps it.
	Context int
	// Pooling makes an embedding model: none, mean, cls or last. Empty is mean for bert
	// and leaves it out for others.
	Pooling string
	// Name is general.name; empty derives it from shape and architecture.
	Name string
	// Progress receives the number of bytes written.
	Progress func(done, total int64)
}

// WriteRandom writes a random model. Its logits depend on every earlier token, and greedy
// text changes with the context.
func WriteRandom(path string, o RandomOptions) error {
	b, err := randomModel(o)
	if err != nil {
		return fault.New(fault.Invalid, opRandom, "%w", err)
	}
	return fault.Wrap(opRandom, b.WriteFile(path, o.Progress))
}

func randomModel(o RandomOptions) (*Builder, error) {
	s, err := shapeFor(o.Shape, o.Architecture)
	if err != nil {
		return nil, err
	}
	if o.Context < 0 {
		return nil, fmt.Errorf("a context of %d positions cannot be", o.Context)
	}
	if o.Context > 0 {
		s.context = o.Context
	}
	b := &Builder{}
	t, err := matrixType(o.Type)
	if err != nil {
		return nil, err
	}
	if err := o.describe(b, &s, t); err != nil {
		return nil, err
	}
	if err := o.tokenizer(b, &s); err != nil {
		return nil, err
	}
	m := maker{Builder: b, shape: s, typ: t, seed: o.Seed}
	if s.arch == "bert" {
		m.encoder()
	} else {
		m.decoder()
	}
	return b, b.err
}

func matrixType(name string) (Type, error) {
	for _, t := range []Type{F32, F16, Q8_0, Q4_0} {
		if name == t.String() || name == "" && t == F32 {
			return t, nil
		}
	}
	return 0, fmt.Errorf("type %q cannot be made: there are f32, f16, q8_0 and q4_0", name)
}

func (s *shape) headSize() int { return s.width / s.heads }

// describe writes the hyperparameters.
func (o *RandomOptions) describe(b *Builder, s *shape, t Type) error {
	name := o.Name
	if name == "" {
		name = "random-" + s.name + "-" + s.arch
	}
	fileType := map[Type]uint32{F32: 0, F16: 1, Q4_0: 2, Q8_0: 7}[t]
	b.Set("general.architecture", s.arch)
	b.Set("general.name", name)
	b.Set("general.description", "random weights; for tests and measurements")
	b.Set("general.file_type", fileType)
	b.Set("general.quantization_version", uint32(2))
	set := func(key string, v any) { b.Set(s.arch+"."+key, v) }
	set("context_length", uint32(s.context))
	set("embedding_length", uint32(s.width))
	set("block_count", uint32(s.layers))
	set("feed_forward_length", uint32(s.ff))
	if s.experts > 0 {
		set("expert_count", uint32(s.experts))
		set("expert_used_count", uint32(s.used))
		set("expert_feed_forward_length", uint32(s.ff))
	}
	set("attention.head_count", uint32(s.heads))
	set("attention.head_count_kv", uint32(s.kv))
	if s.arch == "bert" {
		set("attention.layer_norm_epsilon", float32(1e-12))
		set("attention.causal", false)
	} else {
		set("attention.layer_norm_rms_epsilon", float32(1e-6))
		set("attention.key_length", uint32(s.headSize()))
		set("attention.value_length", uint32(s.headSize()))
		set("rope.dimension_count", uint32(s.headSize()))
		set("rope.freq_base", s.base)
		set("vocab_size", uint32(s.vocab))
	}
	if s.window > 0 {
		set("attention.sliding_window", uint32(s.window))
	}
	pooling := o.Pooling
	if pooling == "" && s.arch == "bert" {
		pooling = "mean"
	}
	if pooling != "" {
		n := slices.Index([]string{"none", "mean", "cls", "last"}, pooling)
		if n < 0 {
			return fmt.Errorf("pooling %q cannot be made: there are none, mean, cls and last", pooling)
		}
		set("pooling_type", uint32(n))
	}
	return nil
}

// tokenizer writes the vocabulary and the chat template.
func (o *RandomOptions) tokenizer(b *Builder, s *shape) error {
	kind := o.Tokenizer
	if kind == "" {
		kind = map[string]string{"bert": "wpm", "gemma3": "spm"}[s.arch]
	}
	set := func(key string, v any) { b.Set("tokenizer.ggml."+key, v) }
	var v *vocabulary
	template := ""
	switch kind {
	case "", "bpe":
		v, template = bpe(s.vocab), chatML
		pre := "gpt-2"
		if strings.HasPrefix(s.arch, "qwen") {
			pre = "qwen2"
		}
		set("model", "gpt2")
		set("pre", pre)
		set("merges", v.merges)
		set("bos_token_id", v.id("<|endoftext|>"))
		set("eos_token_id", v.id("<|im_end|>"))
		set("eot_token_id", v.id("<|im_end|>"))
		set("padding_token_id", v.id("<|endoftext|>"))
		set("add_bos_token", false)
	case "spm":
		v, template = spm(s.vocab), chatLlama
		set("model", "llama")
		set("pre", "default")
		set("scores", v.scores)
		set("bos_token_id", v.id("<s>"))
		set("eos_token_id", v.id("</s>"))
		set("unknown_token_id", v.id("<unk>"))
		set("padding_token_id", v.id("<unk>"))
		set("add_bos_token", true)
		set("add_eos_token", false)
		if s.arch == "gemma3" {
			template = chatGemma
			set("eot_token_id", v.id("<end_of_turn>"))
		}
	case "wpm":
		v = wpm(s.vocab)
		set("model", "bert")
		set("padding_token_id", v.id("[PAD]"))
		set("unknown_token_id", v.id("[UNK]"))
		set("bos_token_id", v.id("[CLS]"))
		set("eos_token_id", v.id("[SEP]"))
		set("cls_token_id", v.id("[CLS]"))
		set("seperator_token_id", v.id("[SEP]")) // spelt so in llama.cpp
		set("mask_token_id", v.id("[MASK]"))
	default:
		return fmt.Errorf("tokenizer %q cannot be made: there are spm, bpe and wpm", kind)
	}
	if s.arch == "bert" {
		set("token_type_count", uint32(2))
		template = ""
	}
	set("tokens", v.tokens)
	set("token_type", v.types)
	if o.ChatTemplate != "" {
		template = o.ChatTemplate
	}
	if template != "" && template != "none" {
		b.Set("tokenizer.chat_template", template)
	}
	return nil
}

// maker adds random tensors.
type maker struct {
	*Builder
	shape
	typ  Type
	seed uint64
}

// matrix from in to out values: unit values come out with size gain.
func (m *maker) matrix(name string, in, out int, gain float64) {
	m.table(name, in, out, gain/math.Sqrt(float64(in)))
}

func (m *maker) table(name string, in, out int, sigma float64) {
	m.random(name, m.blockType(in), []uint64{uint64(in), uint64(out)}, spread{sigma: float32(sigma)})
}

// blockType is the type of a matrix with rows of n values.
func (m *maker) blockType(n int) Type {
	if l, _ := layoutOf(m.typ); uint64(n)%l.values != 0 {
		return F16
	}
	return m.typ
}

// vector of f32.
func (m *maker) vector(name string, n int, s spread) {
	m.random(name, F32, []uint64{uint64(n)}, s)
}

func (m *maker) random(name string, t Type, dims []uint64, s spread) {
	m.Tensor(name, t, dims, s.fill(t, name, m.seed))
}

// Chat templates of random models, in the three dialects that llama.cpp and llm/llamacpp
// must distinguish.
const (
	chatML = `{% for m in messages %}<|im_start|>{{ m['role'] }}
{{ m['content'] }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

	chatGemma = `{{ bos_token }}{% set lead = '' %}{% for m in messages %}{% if m['role'] == 'system' %}{% set lead = m['content'] + '

' %}{% else %}<start_of_turn>{{ 'model' if m['role'] == 'assistant' else m['role'] }}
{{ lead if loop.index0 < 2 else '' }}{{ m['content'] | trim }}<end_of_turn>
{% endif %}{% endfor %}{% if add_generation_prompt %}<start_of_turn>model
{% endif %}`

	chatLlama = `{% for m in messages %}{% if m['role'] == 'system' %}[INST] <<SYS>>
{{ m['content'] }}
<</SYS>>

{% elif m['role'] == 'user' %}{% if loop.index0 != 1 or messages[0]['role'] != 'system' %}[INST] {% endif %}{{ m['content'] }} [/INST]{% else %} {{ m['content'] }} {{ eos_token }}{% endif %}{% endfor %}`
)

// shape is a model's dimensions.
type shape struct {
	name           string
	arch           string // empty: any
	layers         int
	width          int
	heads, kv      int
	ff             int
	vocab, context int
	base           float32 // of the rotation frequencies
	window         int     // of sliding attention; 0 = none
	experts, used  int     // in each layer, of ff each, and how many a token uses; 0 = no experts
}

func shapes() []shape {
	return []shape{
		{name: "tiny", layers: 4, width: 128, heads: 4, kv: 2, ff: 256, vocab: 1024, context: 2048, base: 10000},
		{name: "135m", arch: "llama", layers: 30, width: 576, heads: 9, kv: 3, ff: 1536, vocab: 49152, context: 8192, base: 100000},
		{name: "0.5b", arch: "qwen2", layers: 24, width: 896, heads: 14, kv: 2, ff: 4864, vocab: 151936, context: 32768, base: 1000000},
		{name: "1b", arch: "llama", layers: 16, width: 2048, heads: 32, kv: 8, ff: 8192, vocab: 128256, context: 131072, base: 500000},
		// The experts are nine tenths of the file.
		{name: "moe", arch: "qwen3moe", layers: 12, width: 1024, heads: 16, kv: 4, ff: 384, vocab: 32768, context: 32768, base: 1000000, experts: 64, used: 4},
		{name: "3b", arch: "llama", layers: 28, width: 3072, heads: 24, kv: 8, ff: 8192, vocab: 128256, context: 131072, base: 500000},
	}
}

// Shapes lists the values of RandomOptions.Shape.
func Shapes() []string {
	var names []string
	for _, s := range shapes() {
		names = append(names, s.name)
	}
	return names
}

// Architectures lists the values of RandomOptions.Architecture.
func Architectures() []string {
	return []string{"llama", "qwen2", "qwen3", "qwen3moe", "gemma3", "bert"}
}

// shapeFor returns the dimensions for a name and architecture.
func shapeFor(name, arch string) (shape, error) {
	if name == "" {
		name = "tiny"
	}
	for _, s := range shapes() {
		if s.name != name {
			continue
		}
		if arch == "" {
			arch = s.arch
		}
		if arch == "" {
			arch = "llama"
		}
		if !slices.Contains(Architectures(), arch) {
			return shape{}, fmt.Errorf("architecture %q cannot be made: there are %s", arch, strings.Join(Architectures(), ", "))
		}
		if s.arch != "" && s.arch != arch {
			return shape{}, fmt.Errorf("shape %s is of architecture %s, not %s", name, s.arch, arch)
		}
		s.arch = arch
		switch arch {
		case "gemma3":
			// Every sixth layer sees all tokens, the others a window: with fewer than six
			// layers none would see all.
			s.layers, s.window, s.base = 6, 256, 1000000
		case "qwen3moe":
			if s.experts == 0 {
				s.ff, s.experts, s.used = s.ff/4, 8, 2
			}
		case "bert":
			s.context, s.kv = 512, s.heads
		}
		return s, nil
	}
	return shape{}, fmt.Errorf("shape %q is not known: there are %s", name, strings.Join(Shapes(), ", "))
}
