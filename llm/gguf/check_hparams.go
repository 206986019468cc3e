package gguf

import (
	"math"
	"slices"
)

// Limits above every real model, and low enough that products do not overflow.
const (
	maxLayers  = 512 // LLAMA_MAX_LAYERS
	maxExperts = 512 // LLAMA_MAX_EXPERTS
	maxWidth   = 1 << 20
	maxContext = math.MaxInt32
)

// positive reads a required number between 1 and limit.
func (c *checker) positive(suffix string, limit uint64) uint64 {
	key := c.Key(suffix)
	n, ok := c.Uint(key)
	switch {
	case c.err != nil:
	case !ok:
		c.invalid("%s is missing", key)
	case n == 0 || n > limit:
		c.invalid("%s is %d and must be between 1 and %d", key, n, limit)
	default:
		return n
	}
	return 0
}

func (c *checker) measures() {
	c.context = c.positive("context_length", maxContext)
	c.width = c.positive("embedding_length", maxWidth)
	c.layers = c.positive("block_count", maxLayers)
}

// experts repeats llama.cpp's assertions.
func (c *checker) experts() {
	read := func(suffix string) uint64 { n, _ := c.Uint(c.Key(suffix)); return n }
	n, used := read("expert_count"), read("expert_used_count")
	groups, groupsUsed := read("expert_group_count"), read("expert_group_used_count")
	c.nExperts = n
	switch {
	case n > maxExperts:
		c.invalid("%s is %d; llama.cpp takes up to %d", c.Key("expert_count"), n, maxExperts)
	case used > n:
		c.invalid("%s is %d of %d experts", c.Key("expert_used_count"), used, n)
	case n > 0 && used == 0:
		c.invalid("%s is missing or 0, but there are %d experts", c.Key("expert_used_count"), n)
	case groups > 0 && groups >= n:
		c.invalid("%s is %d for %d experts", c.Key("expert_group_count"), groups, n)
	case groups > 1 && n%groups != 0:
		c.invalid("%d experts do not divide into %d groups (%s)", n, groups, c.Key("expert_group_count"))
	case groups > 1 && (groupsUsed == 0 || groupsUsed >= groups):
		c.invalid("%s is %d of %d groups", c.Key("expert_group_used_count"), groupsUsed, groups)
	}
}

// heads checks the attention heads of every layer and keeps those of the first.
func (c *checker) heads() {
	none := make([]uint64, c.layers)
	heads := c.perLayer("attention.head_count", none)
	kv := c.perLayer("attention.head_count_kv", heads)
	ff := c.perLayer("feed_forward_length", none)
	if c.err != nil {
		return
	}
	for i := range heads {
		h, k := heads[i], kv[i]
		switch {
		case h > maxWidth || k > maxWidth || ff[i] > 1<<24:
			c.invalid("layer %d has %d heads, %d for keys and values, and a feed-forward width of %d: that is no model", i, h, k, ff[i])
		case c.headless():
			continue // some or all layers have none
		case h == 0:
			c.invalid("%s is missing or 0 (layer %d)", c.Key("attention.head_count"), i)
		case k == 0:
			c.invalid("%s is 0 (layer %d)", c.Key("attention.head_count_kv"), i)
		case h%k != 0:
			c.invalid("%s is %d and does not divide by %s, which is %d (layer %d)", c.Key("attention.head_count"), h, c.Key("attention.head_count_kv"), k, i)
		case ff[i] == 0 && c.detailed():
			c.invalid("%s is missing or 0 (layer %d)", c.Key("feed_forward_length"), i)
		case c.detailed() && (h != heads[0] || k != kv[0] || ff[i] != ff[0]):
			c.unsupported("layers 0 and %d of a %s differ in heads or width: llama.cpp takes them for equal", i, c.arch)
		}
	}
	c.ff, c.nHeads, c.kv = ff[0], heads[0], kv[0]
	c.headSizes(heads[0])
}

func (c *checker) headSizes(heads uint64) {
	if c.err != nil || heads == 0 {
		return
	}
	size := func(suffix string) uint64 {
		key := c.Key(suffix)
		n, ok := c.Uint(key)
		switch {
		case !ok && c.width%heads != 0:
			c.invalid("%s is %d and does not divide by the %d heads, and %s is missing", c.Key("embedding_length"), c.width, heads, key)
		case !ok:
			return c.width / heads
		case n == 0 || n > maxWidth:
			c.invalid("%s is %d and must be between 1 and %d", key, n, maxWidth)
		}
		return n
	}
	c.headK, c.headV = size("attention.key_length"), size("attention.value_length")
	// llama.cpp makes these queries as wide as the model and then cuts them into heads.
	if slices.Contains([]string{"qwen2", "bert", "nomic-bert"}, c.arch) && heads*c.headK != c.width {
		c.invalid("%d heads of %d (%s) do not make up the %d of %s", heads, c.headK, c.Key("attention.key_length"), c.width, c.Key("embedding_length"))
	}
}

// detailed reports whether this architecture's tensors are checked one by one.
func (c *checker) detailed() bool {
	return slices.Contains([]string{"llama", "qwen2", "qwen3", "gemma3", "bert", "nomic-bert"}, c.arch)
}

// rotation checks the position encoding.
func (c *checker) rotation() {
	c.rot = c.headK
	key := c.Key("rope.dimension_count")
	if n, ok := c.Uint(key); ok {
		c.rot = n
	}
	switch {
	case c.nHeads == 0:
	case c.rot > c.headK:
		c.invalid("%s is %d, but a head has only %d values", key, c.rot, c.headK)
	case c.rot%2 != 0 && c.arch != "bert":
		c.invalid("%s is %d and must be even", key, c.rot)
	case c.rot != c.headK && slices.Contains([]string{"llama", "qwen2", "qwen3", "deci", "falcon"}, c.arch):
		c.invalid("%s is %d, but a %s rotates whole heads of %d", key, c.rot, c.arch, c.headK)
	case c.headK != c.headV && !slices.Contains([]string{"deepseek2", "minicpm3", "plamo2", "plm"}, c.arch):
		c.unsupported("keys of %d and values of %d in one head: llama.cpp wants them equal in a %s", c.headK, c.headV, c.arch)
	}
	if s, ok := c.Str(c.Key("rope.scaling.type")); ok && !slices.Contains([]string{"none", "linear", "yarn", "longrope"}, s) {
		c.unsupported("%s is %q; llama.cpp knows none, linear, yarn and longrope", c.Key("rope.scaling.type"), s)
	}
	if v := c.meta[c.Key("rope.dimension_sections")]; v != nil && c.err == nil {
		if v.kind == KindArray && (v.n != 4 || v.elem != KindInt32 && v.elem != KindUint32) {
			c.invalid("%s is an %s and must be one of 4 int32", c.Key("rope.dimension_sections"), v.typeName())
		}
	}
}

// numbers checks the fractions; kinds found them to be finite.
func (c *checker) numbers() {
	for _, suffix := range []string{"attention.layer_norm_epsilon", "attention.layer_norm_rms_epsilon", "attention.group_norm_epsilon"} {
		if x, ok := c.Float(c.Key(suffix)); ok && (x < 0 || x > 1) {
			c.invalid("%s is %v and must be between 0 and 1", c.Key(suffix), x)
		}
	}
	if c.detailed() {
		suffix := "attention.layer_norm_rms_epsilon"
		if c.encoder() {
			suffix = "attention.layer_norm_epsilon"
		}
		if !c.Has(c.Key(suffix)) {
			c.invalid("%s is missing", c.Key(suffix))
		}
		if c.encoder() && !c.Has(c.Key("attention.causal")) {
			c.invalid("%s is missing", c.Key("attention.causal"))
		}
	}
	if x, ok := c.Float(c.Key("rope.freq_base")); ok && x <= 0 {
		c.invalid("%s is %v and must be above 0", c.Key("rope.freq_base"), x)
	}
	for _, suffix := range []string{"rope.scaling.factor", "rope.scale_linear", "rope.scaling.attn_factor"} {
		if x, ok := c.Float(c.Key(suffix)); ok && x < 0 {
			c.invalid("%s is %v and must not be negative", c.Key(suffix), x)
		}
	}
}

func (c *checker) encoder() bool { return c.arch == "bert" || c.arch == "nomic-bert" }

func (c *checker) pooling() {
	key := c.Key("pooling_type")
	n, ok := c.Uint(key)
	switch {
	case !ok && c.arch == "nomic-bert":
		c.invalid("%s is missing", key)
	case ok && n > 4:
		c.invalid("%s is %d; known are 0 (none), 1 (mean), 2 (cls), 3 (last) and 4 (rank)", key, n)
	}
}
