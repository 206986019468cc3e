package gguf

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
)

// Strength of the parts of a random model. Attention must be sharp enough that single
// tokens matter, otherwise greedy text would depend only on the last token and loop. It
// must not be so sharp that most tokens never matter. The values were found by
// experiments with llama.cpp.
const (
	gainScores = 2.2 // deviation of attention scores
	gainValue  = 1.5 // of what attention adds to the stream
	gainFFN    = 1.3 // of what the feed-forward part adds
	gainLogits = 3.0 // deviation of logits
)

// decoder adds the tensors of llama, qwen2, qwen3, qwen3moe and gemma3.
func (m *maker) decoder() {
	head := m.headSize()
	q, kv := m.heads*head, m.kv*head
	// gemma3 multiplies embeddings by the root of the width; the others normalise them at
	// once, so that their size only weighs them against the layers.
	sigma := 1 / math.Sqrt(float64(m.width))
	m.table("token_embd.weight", m.width, m.vocab, sigma)
	// The head shares the embeddings: with plain norms each token would mostly predict
	// itself. Random signs in the last norm prevent that.
	last := gainLogits / (sigma * math.Sqrt(float64(m.width)))
	m.vector("output_norm.weight", m.width, spread{mean: float32(last), sigma: float32(last / 10), flip: true})
	norm, bias := spread{mean: 1, sigma: 0.1}, spread{sigma: 0.1}
	scores := math.Sqrt(gainScores)
	for i := range m.layers {
		name := func(part string) string { return fmt.Sprintf("blk.%d.%s", i, part) }
		m.vector(name("attn_norm.weight"), m.width, norm)
		m.matrix(name("attn_q.weight"), m.width, q, scores)
		m.matrix(name("attn_k.weight"), m.width, kv, scores)
		m.matrix(name("attn_v.weight"), m.width, kv, 1)
		m.matrix(name("attn_output.weight"), q, m.width, gainValue)
		switch m.arch {
		case "qwen2":
			m.vector(name("attn_q.bias"), q, bias)
			m.vector(name("attn_k.bias"), kv, bias)
			m.vector(name("attn_v.bias"), kv, bias)
		case "qwen3", "qwen3moe", "gemma3":
			sharp := spread{mean: float32(scores), sigma: 0.1}
			m.vector(name("attn_q_norm.weight"), head, sharp)
			m.vector(name("attn_k_norm.weight"), head, sharp)
		}
		m.vector(name("ffn_norm.weight"), m.width, norm)
		if m.experts > 0 {
			m.mixture(name)
			continue
		}
		m.matrix(name("ffn_gate.weight"), m.width, m.ff, 1)
		m.matrix(name("ffn_up.weight"), m.width, m.ff, 1)
		m.matrix(name("ffn_down.weight"), m.ff, m.width, gainFFN)
		if m.arch == "gemma3" {
			m.vector(name("post_attention_norm.weight"), m.width, norm)
			m.vector(name("post_ffw_norm.weight"), m.width, norm)
		}
	}
}

// mixture adds the router and the experts of a layer. Tokens spread evenly over the experts.
func (m *maker) mixture(name func(part string) string) {
	experts := func(part string, in, out int, gain float64) {
		m.random(name(part), m.blockType(in), []uint64{uint64(in), uint64(out), uint64(m.experts)}, spread{sigma: float32(gain / math.Sqrt(float64(in)))})
	}
	m.random(name("ffn_gate_inp.weight"), F32, []uint64{uint64(m.width), uint64(m.experts)}, spread{sigma: float32(1 / math.Sqrt(float64(m.width)))})
	experts("ffn_gate_exps.weight", m.width, m.ff, 1)
	experts("ffn_up_exps.weight", m.width, m.ff, 1)
	// The layer adds a weighted mean of the experts that are used.
	experts("ffn_down_exps.weight", m.ff, m.width, gainFFN*math.Sqrt(float64(m.used)))
}

// encoder adds the tensors of bert, which normalises after each part. What all texts
// share (positions, biases, the mean of the activation) is kept weak, because otherwise
// it would dominate the mean over a text and make all texts similar. So texts are similar
// by the words they share.
func (m *maker) encoder() {
	w := m.width
	norm := func(name string) {
		m.vector(name+".weight", w, spread{mean: 1, sigma: 0.1})
		m.vector(name+".bias", w, spread{sigma: 0.02})
	}
	linear := func(name string, in, out int, gain float64) {
		m.matrix(name+".weight", in, out, gain)
		m.vector(name+".bias", out, spread{sigma: 0.02})
	}
	m.table("token_embd.weight", w, m.vocab, 1)
	m.random("position_embd.weight", F32, []uint64{uint64(w), uint64(m.context)}, spread{sigma: 0.1})
	m.random("token_types.weight", F32, []uint64{uint64(w), 2}, spread{sigma: 0.05})
	norm("token_embd_norm")
	scores := math.Sqrt(gainScores)
	for i := range m.layers {
		name := func(part string) string { return fmt.Sprintf("blk.%d.%s", i, part) }
		linear(name("attn_q"), w, w, scores)
		linear(name("attn_k"), w, w, scores)
		linear(name("attn_v"), w, w, 1)
		linear(name("attn_output"), w, w, gainValue/2)
		norm(name("attn_output_norm"))
		linear(name("ffn_up"), w, m.ff, 1)
		linear(name("ffn_down"), m.ff, w, gainFFN/3)
		norm(name("layer_output_norm"))
	}
}

// noise is splitmix64: one addition and one mix a word, so fast that the disk limits the
// creation of a large model.
type noise uint64

func (n *noise) word() uint64 {
	*n += 0x9e3779b97f4a7c15
	z := uint64(*n)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// seeded starts the noise of one piece of one tensor, so that pieces can be created in
// any order.
func seeded(seed uint64, name string, at int64) noise {
	h := fnv.New64a()
	h.Write([]byte(name))
	n := noise(seed)
	n = noise(n.word() ^ h.Sum64())
	n = noise(n.word() ^ uint64(at))
	return noise(n.word())
}

// spread is random values around mean: uniform over mean ± √3·sigma, and negated half the
// time if flip is set.
type spread struct {
	mean, sigma float32
	flip        bool
}

const levels = 1 << 12 // that an f32 or f16 value can take

func (s spread) table() []float32 {
	t := make([]float32, levels)
	for i := range t {
		// The conversion prevents fusing the product with the sum, which would give other
		// bytes on other machines.
		t[i] = s.mean + float32(s.sigma*float32(math.Sqrt(3)*(float64(2*i+1)/levels-1)))
		if s.flip && i%2 == 1 {
			t[i] = -t[i]
		}
	}
	return t
}

// fill returns a Fill for a tensor of these values. Quantised types require a mean of 0.
func (s spread) fill(t Type, name string, seed uint64) Fill {
	switch t {
	case F32:
		table := s.table()
		return func(p []byte, at int64) error {
			rng := seeded(seed, name, at)
			for ; len(p) > 0; p = p[4:] {
				binary.LittleEndian.PutUint32(p, math.Float32bits(table[rng.word()%levels]))
			}
			return nil
		}
	case F16:
		table := make([]uint16, levels)
		for i, v := range s.table() {
			table[i] = half(v)
		}
		return func(p []byte, at int64) error {
			rng := seeded(seed, name, at)
			for len(p) > 0 {
				w := rng.word()
				for range min(5, len(p)/2) { // 5 times 12 bits in a word
					binary.LittleEndian.PutUint16(p, table[w%levels])
					p, w = p[2:], w/levels
				}
			}
			return nil
		}
	case Q8_0:
		return s.blocks(name, seed, 34, math.Sqrt(5461.25)) // of even -128 to 127
	case Q4_0:
		return s.blocks(name, seed, 18, math.Sqrt(21.25)) // of even -8 to 7
	}
	return nil
}

// blocks creates quantised blocks directly: a scale followed by random bits. The scale's
// sign is random, because the integers' mean is half below zero.
func (s spread) blocks(name string, seed uint64, size int, deviation float64) Fill {
	scale := half(s.sigma / float32(deviation))
	return func(p []byte, at int64) error {
		rng := seeded(seed, name, at)
		var signs uint64
		for i := 0; len(p) > 0; i++ {
			if i%64 == 0 {
				signs = rng.word()
			}
			binary.LittleEndian.PutUint16(p, scale|uint16(signs&1)<<15)
			signs >>= 1
			for q := p[2:size]; len(q) > 0; q = q[8:] {
				binary.LittleEndian.PutUint64(q, rng.word())
			}
			p = p[size:]
		}
		return nil
	}
}
