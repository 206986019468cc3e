package gguf

import (
	"fmt"
	"math"
)

// How strong the parts of a random model are. Attention must be sharp enough
// that single tokens matter, or greedy text would depend on the last token
// alone and run in a circle; and it must not be so sharp that most tokens never
// matter. The values were found by trying with llama.cpp.
const (
	gainScores = 2.2 // deviation of attention scores
	gainValue  = 1.5 // of what attention adds to the stream
	gainFFN    = 1.3 // of what the feed-forward part adds
	gainLogits = 3.0 // deviation of logits
)

// decoder adds the tensors of llama, qwen2, qwen3 and gemma3.
func (m *maker) decoder() {
	head := m.headSize()
	q, kv := m.heads*head, m.kv*head
	// gemma3 multiplies embeddings by the root of the width; the others norm
	// them at once, so that their size only weighs them against the layers.
	sigma := 1 / math.Sqrt(float64(m.width))
	m.table("token_embd.weight", m.width, m.vocab, sigma)
	// The head is tied to the embeddings: with plain norms each token would
	// mostly predict itself. Random signs in the last norm break that.
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
		case "qwen3", "gemma3":
			sharp := spread{mean: float32(scores), sigma: 0.1}
			m.vector(name("attn_q_norm.weight"), head, sharp)
			m.vector(name("attn_k_norm.weight"), head, sharp)
		}
		m.vector(name("ffn_norm.weight"), m.width, norm)
		m.matrix(name("ffn_gate.weight"), m.width, m.ff, 1)
		m.matrix(name("ffn_up.weight"), m.width, m.ff, 1)
		m.matrix(name("ffn_down.weight"), m.ff, m.width, gainFFN)
		if m.arch == "gemma3" {
			m.vector(name("post_attention_norm.weight"), m.width, norm)
			m.vector(name("post_ffw_norm.weight"), m.width, norm)
		}
	}
}

// encoder adds the tensors of bert, which norms behind each part. What all
// texts have in common (positions, biases, the mean of the activation) is kept
// weak: the mean over a text would leave little else, and all texts would be
// alike. As it is, texts are alike by the words they share.
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
