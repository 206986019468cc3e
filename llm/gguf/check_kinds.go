package gguf

import (
	"math"
	"strings"
)

// kindWants says of which kind llama.cpp wants a value; it takes no other
// width. Names without a dot in front are the architecture's own.
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

// perLayer reads a value that stands once for all layers or once for each.
// Missing, it is what def says.
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
