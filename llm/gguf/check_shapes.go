package gguf

import (
	"fmt"
	"slices"
	"strings"
)

// want is a tensor that the architecture requires or allows.
type want struct {
	name     string
	dims     []uint64
	optional bool
	f32      bool // llama.cpp adds or multiplies it value by value
}

// shapes checks the tensors against the hyperparameters.
func (c *checker) shapes() {
	var wants []want
	switch {
	case c.arch == "nomic-bert" && c.Has(c.Key("moe_every_n_layers")), !c.detailed():
		return
	case c.encoder():
		wants = c.encoderTensors()
	default:
		wants = c.decoderTensors()
	}
	known := make(map[string]bool, len(wants))
	for _, w := range wants {
		known[w.name] = true
		c.holds(w)
	}
	for i := range c.tensors {
		if name := c.tensors[i].Name; !known[name] && c.err == nil {
			c.unsupported("tensor %q is not part of a %s with these hyperparameters", name, c.arch)
		}
	}
}

func (c *checker) holds(w want) {
	t, ok := c.Tensor(w.name)
	switch {
	case c.err != nil || !ok && w.optional:
		return
	case !ok:
		c.invalid("tensor %q is missing", w.name)
		return
	case !sameDims(t.Dims, w.dims):
		c.invalid("tensor %q is %s and must be %s", w.name, dimString(t.Dims), dimString(w.dims))
	case w.f32 && t.Type != F32:
		c.invalid("tensor %q is %v and must be f32", w.name, t.Type)
	}
	c.weightType(t)
}

// sameDims ignores ones at the end.
func sameDims(a, b []uint64) bool {
	trim := func(d []uint64) []uint64 {
		for len(d) > 1 && d[len(d)-1] == 1 {
			d = d[:len(d)-1]
		}
		return d
	}
	return slices.Equal(trim(a), trim(b))
}

func dimString(d []uint64) string {
	s := make([]string, len(d))
	for i, n := range d {
		s[i] = fmt.Sprint(n)
	}
	return strings.Join(s, " x ")
}

// list collects wants.
type list struct{ wants []want }

func (l *list) matrix(name string, in, out uint64) {
	l.wants = append(l.wants, want{name: name + ".weight", dims: []uint64{in, out}})
}

func (l *list) norm(name string, n uint64) {
	l.wants = append(l.wants, want{name: name + ".weight", dims: []uint64{n}, f32: true})
}

func (l *list) bias(name string, n uint64) {
	l.wants = append(l.wants, want{name: name + ".bias", dims: []uint64{n}, f32: true})
}

// maybe makes the last n wants optional.
func (l *list) maybe(n int) {
	for i := len(l.wants) - n; i < len(l.wants); i++ {
		l.wants[i].optional = true
	}
}

func (c *checker) decoderTensors() []want {
	l := &list{}
	q, k, v := c.headK*c.nHeads, c.headK*c.kv, c.headV*c.kv
	l.matrix("token_embd", c.width, c.vocab)
	l.norm("output_norm", c.width)
	l.matrix("output", c.width, c.vocab)
	l.maybe(1)
	switch c.arch {
	case "qwen2":
		l.bias("output", c.vocab)
		l.maybe(1)
	case "qwen3":
		l.matrix("cls.output", c.width, max(1, uint64(c.Len(c.Key("classifier.output_labels")))))
		l.maybe(1)
	case "llama":
		if s, _ := c.Str(c.Key("rope.scaling.type")); s == "longrope" {
			l.norm("rope_factors_long", c.rot/2)
			l.norm("rope_factors_short", c.rot/2)
			l.maybe(2)
		} else {
			l.norm("rope_freqs", c.rot/2)
			l.maybe(1)
		}
	}
	for i := range c.layers {
		p := fmt.Sprintf("blk.%d.", i)
		l.norm(p+"attn_norm", c.width)
		l.matrix(p+"attn_q", c.width, q)
		l.matrix(p+"attn_k", c.width, k)
		l.matrix(p+"attn_v", c.width, v)
		l.matrix(p+"attn_output", q, c.width)
		switch c.arch {
		case "llama", "qwen2":
			if q == c.width { // llama.cpp requires the model's width and adds it to the queries
				l.bias(p+"attn_q", q)
				l.maybe(1)
			}
			l.bias(p+"attn_k", v)
			l.bias(p+"attn_v", v)
			l.maybe(2)
		case "qwen3", "gemma3":
			l.norm(p+"attn_q_norm", c.headK)
			l.norm(p+"attn_k_norm", c.headK)
		}
		l.norm(p+"ffn_norm", c.width)
		if c.arch == "llama" && c.nExperts > 0 {
			c.expertTensors(l, p)
			continue
		}
		l.matrix(p+"ffn_gate", c.width, c.ff)
		l.matrix(p+"ffn_up", c.width, c.ff)
		l.matrix(p+"ffn_down", c.ff, c.width)
		switch c.arch {
		case "llama":
			l.bias(p+"attn_output", c.width)
			l.bias(p+"ffn_gate", c.ff)
			l.bias(p+"ffn_up", c.ff)
			l.bias(p+"ffn_down", c.width)
			l.maybe(4)
		case "gemma3":
			l.norm(p+"post_attention_norm", c.width)
			l.norm(p+"post_ffw_norm", c.width)
		}
	}
	return l.wants
}

func (c *checker) expertTensors(l *list, p string) {
	l.bias(p+"attn_output", c.width)
	l.maybe(1)
	l.matrix(p+"ffn_gate_inp", c.width, c.nExperts)
	l.wants = append(
		l.wants,
		want{name: p + "ffn_gate_exps.weight", dims: []uint64{c.width, c.ff, c.nExperts}, optional: true},
		want{name: p + "ffn_up_exps.weight", dims: []uint64{c.width, c.ff, c.nExperts}},
		want{name: p + "ffn_down_exps.weight", dims: []uint64{c.ff, c.width, c.nExperts}},
	)
}

func (c *checker) encoderTensors() []want {
	l := &list{}
	w, kv := c.width, c.headV*c.kv
	l.matrix("token_embd", w, c.vocab)
	types, _ := c.Uint(tok + "token_type_count")
	l.wants = append(l.wants, want{name: "token_types.weight", dims: []uint64{w, types}, optional: true, f32: true})
	if c.arch == "bert" {
		l.matrix("position_embd", w, c.context)
		labels := max(1, uint64(c.Len(c.Key("classifier.output_labels"))))
		l.matrix("cls", w, w)
		l.bias("cls", w)
		l.matrix("cls.output", w, labels)
		l.bias("cls.output", labels)
		l.maybe(4)
	}
	both := func(name string) {
		l.norm(name, w)
		l.bias(name, w)
	}
	both("token_embd_norm")
	for i := range c.layers {
		p := fmt.Sprintf("blk.%d.", i)
		if _, joined := c.Tensor(p + "attn_qkv.weight"); joined {
			l.matrix(p+"attn_qkv", w, w+2*kv)
			l.bias(p+"attn_qkv", w+2*kv)
			l.maybe(1)
		} else {
			for _, part := range []struct {
				name string
				out  uint64
			}{{"attn_q", w}, {"attn_k", kv}, {"attn_v", kv}} {
				l.matrix(p+part.name, w, part.out)
				l.bias(p+part.name, part.out)
			}
		}
		l.matrix(p+"attn_output", w, w)
		l.bias(p+"attn_output", w)
		l.maybe(1)
		both(p + "attn_output_norm")
		l.matrix(p+"ffn_up", w, c.ff)
		l.bias(p+"ffn_up", c.ff)
		l.maybe(1)
		l.matrix(p+"ffn_down", c.ff, w)
		l.bias(p+"ffn_down", w)
		l.maybe(1)
		if c.arch == "nomic-bert" {
			l.matrix(p+"ffn_gate", w, c.ff)
		}
		both(p + "layer_output_norm")
	}
	return l.wants
}
