package llamacpp

import (
	"fmt"
	"math"
	"testing"

	"github.com/percached/percached/llm/gguf"
)

// A forward is a second implementation of the llama, qwen2 and qwen3 models: in
// Go, in double precision, from the weights in the file.
type forward struct {
	t                        testing.TB
	file                     *gguf.File
	arch                     string
	layers, width, heads, kv int
	head                     int
	base, epsilon            float64
}

func newForward(t testing.TB, path string) *forward {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	number := func(key string) int { v, _ := f.Uint(f.Key(key)); return int(v) }
	m := &forward{
		t: t, file: f, arch: f.Architecture(), layers: number("block_count"), width: number("embedding_length"),
		heads: number("attention.head_count"), kv: number("attention.head_count_kv"), head: number("attention.key_length"),
	}
	m.base, _ = f.Float(f.Key("rope.freq_base"))
	m.epsilon, _ = f.Float(f.Key("attention.layer_norm_rms_epsilon"))
	return m
}

// attention is what one layer computes: rotated queries and keys of each token,
// and the weights [query][head][key].
type attention struct {
	q, k    [][]float64
	weights [][][]float64
}

func (m *forward) weights(name string) []float64 {
	m.t.Helper()
	v, err := m.file.Values(name)
	if err != nil {
		m.t.Fatal(err)
	}
	return convert[float32, float64](v)
}

// run computes all layers for tokens at positions 0, 1, 2, ...
func (m *forward) run(tokens []int32) []attention {
	m.t.Helper()
	table := m.weights("token_embd.weight")
	x := make([][]float64, len(tokens))
	for i, token := range tokens {
		x[i] = append([]float64(nil), table[int(token)*m.width:][:m.width]...)
	}
	out := make([]attention, m.layers)
	for l := range out {
		out[l] = m.layer(fmt.Sprintf("blk.%d.", l), x)
	}
	return out
}

// layer adds to the stream what one layer makes of it.
func (m *forward) layer(p string, x [][]float64) attention {
	var a attention
	var v [][]float64
	norm := m.weights(p + "attn_norm.weight")
	wq, wk, wv := m.linear(p+"attn_q"), m.linear(p+"attn_k"), m.linear(p+"attn_v")
	for pos, row := range x {
		h := m.rmsNorm(row, norm)
		q, k := wq(h), wk(h)
		if m.arch == "qwen3" {
			m.normHeads(q, p+"attn_q_norm.weight")
			m.normHeads(k, p+"attn_k_norm.weight")
		}
		m.rotate(q, pos)
		m.rotate(k, pos)
		a.q, a.k, v = append(a.q, toHalf(q)), append(a.k, toHalf(k)), append(v, toHalf(wv(h)))
	}
	a.weights = m.attend(a.q, a.k)
	wo, gate, up, down := m.linear(p+"attn_output"), m.linear(p+"ffn_gate"), m.linear(p+"ffn_up"), m.linear(p+"ffn_down")
	norm = m.weights(p + "ffn_norm.weight")
	for i := range x {
		mixed := make([]float64, m.heads*m.head)
		for h, weights := range a.weights[i] {
			from := h / (m.heads / m.kv) * m.head
			for j, w := range toHalf(weights) {
				for d := range m.head {
					mixed[h*m.head+d] += w * v[j][from+d]
				}
			}
		}
		add(x[i], wo(mixed))
		h := m.rmsNorm(x[i], norm)
		g, u := gate(h), up(h)
		for j := range g {
			g[j] *= u[j] / (1 + math.Exp(-g[j]))
		}
		add(x[i], down(g))
	}
	return a
}

// attend gives softmax(QK/√d) over what stands at or before each query.
func (m *forward) attend(q, k [][]float64) [][][]float64 {
	out := make([][][]float64, len(q))
	for i := range q {
		for h := range m.heads {
			from := h / (m.heads / m.kv) * m.head
			scores := make([]float64, i+1)
			top := math.Inf(-1)
			for j := range scores {
				for d := range m.head {
					scores[j] += q[i][h*m.head+d] * k[j][from+d]
				}
				scores[j] /= math.Sqrt(float64(m.head))
				top = max(top, scores[j])
			}
			sum := 0.0
			for j := range scores {
				scores[j] = math.Exp(scores[j] - top)
				sum += scores[j]
			}
			for j := range scores {
				scores[j] /= sum
			}
			out[i] = append(out[i], scores)
		}
	}
	return out
}

// rotate turns pairs of numbers of each head by the position: neighbours in a
// llama, the two halves of a head in a qwen.
func (m *forward) rotate(x []float64, pos int) {
	for h := 0; h < len(x); h += m.head {
		for i := range m.head / 2 {
			a, b := h+2*i, h+2*i+1
			if m.arch != "llama" {
				a, b = h+i, h+i+m.head/2
			}
			sin, cos := math.Sincos(float64(pos) * math.Pow(m.base, -2*float64(i)/float64(m.head)))
			x[a], x[b] = x[a]*cos-x[b]*sin, x[a]*sin+x[b]*cos
		}
	}
}

func (m *forward) rmsNorm(x, weights []float64) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	scale := 1 / math.Sqrt(sum/float64(len(x))+m.epsilon)
	out := make([]float64, len(x))
	for i := range x {
		out[i] = x[i] * scale * weights[i]
	}
	return out
}

func (m *forward) normHeads(x []float64, name string) {
	weights := m.weights(name)
	for h := 0; h < len(x); h += m.head {
		copy(x[h:h+m.head], m.rmsNorm(x[h:h+m.head], weights))
	}
}

// linear is a matrix with its bias, if it has one.
func (m *forward) linear(name string) func([]float64) []float64 {
	w := m.weights(name + ".weight")
	var bias []float64
	if _, ok := m.file.Tensor(name + ".bias"); ok {
		bias = m.weights(name + ".bias")
	}
	return func(x []float64) []float64 {
		out := make([]float64, len(w)/len(x))
		for i := range out {
			for j, v := range x {
				out[i] += w[i*len(x)+j] * v
			}
		}
		if bias != nil {
			add(out, bias)
		}
		return out
	}
}

// toHalf rounds to the 11 bits that a 16-bit float has: engines keep keys and
// values so, and multiply queries so.
func toHalf(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		fraction, exponent := math.Frexp(v)
		out[i] = math.Ldexp(math.RoundToEven(math.Ldexp(fraction, 11)), exponent-11)
	}
	return out
}

func add(x, y []float64) {
	for i := range x {
		x[i] += y[i]
	}
}
