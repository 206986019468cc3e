package llamacpp

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/gguf"
)

// tensorMaker adds small random f32 tensors.
type tensorMaker struct {
	*gguf.Builder
	numbers
}

func (m tensorMaker) add(name string, middle, spread float64, dims ...uint64) {
	n := uint64(1)
	for _, d := range dims {
		n *= d
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(middle + spread*m.NormFloat64())
	}
	m.Tensor(name, gguf.F32, dims, gguf.FromFloats(values))
}

func (m tensorMaker) matrix(name string, in, out uint64) {
	m.add(name+".weight", 0, 1.5/math.Sqrt(float64(in)), in, out)
}

// mamba is a tiny recurrent model.
func mamba(t *testing.T) string {
	const width, inner, state, rank, kernel = 64, 128, 16, 4, 4
	return remade(t, tiny, map[string]any{
		"general.architecture": "mamba", "mamba.embedding_length": uint32(width), "mamba.block_count": uint32(2),
		"mamba.attention.head_count": uint32(0), "mamba.feed_forward_length": uint32(0),
		"mamba.attention.head_count_kv": nil, "mamba.attention.key_length": nil, "mamba.attention.value_length": nil,
		"mamba.rope.dimension_count": nil, "mamba.rope.freq_base": nil,
		"mamba.ssm.conv_kernel": uint32(kernel), "mamba.ssm.inner_size": uint32(inner),
		"mamba.ssm.state_size": uint32(state), "mamba.ssm.time_step_rank": uint32(rank),
	}, func(b *gguf.Builder) {
		m := tensorMaker{b, newNumbers(31)}
		m.add("token_embd.weight", 0, 1, width, 1024)
		m.add("output_norm.weight", 1, 0.1, width)
		m.matrix("output", width, 1024)
		for i := range 2 {
			p := fmt.Sprintf("blk.%d.", i)
			m.add(p+"attn_norm.weight", 1, 0.1, width)
			m.matrix(p+"ssm_in", width, 2*inner)
			m.add(p+"ssm_conv1d.weight", 0, 0.5, kernel, inner)
			m.add(p+"ssm_conv1d.bias", 0, 0.1, inner)
			m.matrix(p+"ssm_x", inner, rank+2*state)
			m.matrix(p+"ssm_dt", rank, inner)
			m.add(p+"ssm_dt.bias", 0, 0.1, inner)
			m.add(p+"ssm_a", -1, 0.1, state, inner)
			m.add(p+"ssm_d", 1, 0.1, inner)
			m.matrix(p+"ssm_out", inner, width)
		}
	})
}

// hybrid is a tiny LFM2-MoE, of layers without experts: one convolves, one
// attends. (This llama.cpp cannot load a plain LFM2: it looks for the last norm
// by a name that no file has.)
func hybrid(t *testing.T) string {
	const width, ff, kernel = 128, 256, 3
	return remade(t, tiny, map[string]any{
		"general.architecture": "lfm2moe", "lfm2moe.block_count": uint32(2), "lfm2moe.feed_forward_length": uint32(ff),
		"lfm2moe.attention.head_count_kv": []int32{0, 2}, "lfm2moe.shortconv.l_cache": uint32(kernel),
		"lfm2moe.leading_dense_block_count": uint32(2), "lfm2moe.expert_feed_forward_length": uint32(ff),
		"lfm2moe.expert_gating_func": uint32(2),
	}, func(b *gguf.Builder) {
		m := tensorMaker{b, newNumbers(32)}
		m.add("token_embd.weight", 0, 1, width, 1024)
		m.add(lfm2Norm, 1, 0.1, width)
		for i := range 2 {
			p := fmt.Sprintf("blk.%d.", i)
			m.add(p+"attn_norm.weight", 1, 0.1, width)
			m.add(p+"ffn_norm.weight", 1, 0.1, width)
			m.matrix(p+"ffn_gate", width, ff)
			m.matrix(p+"ffn_up", width, ff)
			m.matrix(p+"ffn_down", ff, width)
		}
		m.add("blk.0.shortconv.conv.weight", 0, 0.5, kernel, width)
		m.matrix("blk.0.shortconv.in_proj", width, 3*width)
		m.matrix("blk.0.shortconv.out_proj", width, width)
		m.add("blk.1.attn_q_norm.weight", 1, 0.1, 32)
		m.add("blk.1.attn_k_norm.weight", 1, 0.1, 32)
		m.matrix("blk.1.attn_q", width, 128)
		m.matrix("blk.1.attn_k", width, 64)
		m.matrix("blk.1.attn_v", width, 64)
		m.matrix("blk.1.attn_output", 128, width)
	})
}

// axes is a qwen2 that counts positions on several axes.
func axes(t *testing.T) string { return remade(t, plainAxes, severalAxes(), nil) }

var plainAxes = gguf.RandomOptions{Shape: "tiny", Architecture: "qwen2", Seed: 1}

func severalAxes() map[string]any {
	return map[string]any{"general.architecture": "qwen2vl", "qwen2vl.rope.dimension_sections": []int32{8, 4, 4, 0}}
}

// Models whose tensors cannot be stored say why, and answer without: every run
// computes, nothing is captured, and what would need stored tensors is refused.
func TestModelsWithoutSlices(t *testing.T) {
	for _, m := range []struct {
		name, reason string
		make         func(*testing.T) string
	}{
		{"several axes", "positions on several axes", axes},
	} {
		t.Run(m.name, func(t *testing.T) {
			e, err := openFile(t, m.make(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			info := e.Info()
			if !strings.Contains(info.NoSlices, m.reason) || info.BytesPerToken != 0 {
				t.Fatalf("reason %q, %d bytes per token; want a reason with %q and 0", info.NoSlices, info.BytesPerToken, m.reason)
			}
			r := newNumbers(33)
			p := r.prompt(percached.Sequential, 12, 50, 40, 9)
			cold := generate(t, e, p)
			if cold.Usage.Generated == 0 && cold.Finish != percached.FinishEnd || !finite(cold.Logits) {
				t.Fatalf("it does not answer: %+v", cold)
			}
			for _, planes := range []percached.Planes{percached.KV, percached.QKV} {
				q := capturing(p)
				q.Planes = planes
				again := generate(t, e, q)
				equal(t, "asked for slices", cold, again)
				for i, s := range again.Slices {
					if s != nil {
						t.Errorf("segment %d: a slice was captured", i)
					}
				}
				if again.Usage.Reused != 0 || again.Usage.Computed != again.Usage.Prompt || again.Usage.Prompt != 111 {
					t.Errorf("usage %+v", again.Usage)
				}
			}
			other := r.prompt(percached.Sequential, 12, 50, 40, 9)
			generate(t, e, other)
			equal(t, "after another prompt", cold, generate(t, e, p))
			refusesSlices(t, e, p)
			refusesBranches(t, e, p)
			equal(t, "after what was refused", cold, generate(t, e, p))
		})
	}
}

// refusesSlices: even a slice that is right in all else.
func refusesSlices(t *testing.T, e *Engine, p percached.Prompt) {
	t.Helper()
	tokens := p.Segments[0].Tokens
	piece := percached.Piece{To: len(tokens), KV: []byte("tensors")}
	piece.Sum = piece.Checksum()
	forged := &percached.Slice{
		Model: e.Info().Fingerprint, Path: percached.Path{}.Child(tokens), Tokens: tokens, Pieces: []percached.Piece{piece},
	}
	_, err := e.Generate(t.Context(), with(p, []*percached.Slice{forged, nil, nil, nil}, 1), nil)
	var refused *percached.SliceError
	if !errors.As(err, &refused) || refused.Segment != 0 || refused.Reason != e.Info().NoSlices {
		t.Errorf("a slice: %v, want it refused because %s", err, e.Info().NoSlices)
	}
}

func refusesBranches(t *testing.T, e *Engine, p percached.Prompt) {
	t.Helper()
	p.Placement = percached.Parallel
	_, err := e.Generate(t.Context(), p, nil)
	if fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), e.Info().NoSlices) {
		t.Errorf("chunks side by side: %v, want it unsupported because %s", err, e.Info().NoSlices)
	}
	p.Segments = []percached.Segment{p.Segments[0], p.Segments[3]}
	generate(t, e, p) // no chunks: nothing needs to be stored
}

// An embedding model does not pass for a language model.
func TestEmbeddingModelIsNoEngine(t *testing.T) {
	path := randomModel(t, gguf.RandomOptions{Shape: "tiny", Architecture: "bert", Seed: 1})
	_, err := openFile(t, path, nil)
	if fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "is an embedding model: it does not write text") {
		t.Errorf("%v", err)
	}
}

// A language model embeds by its last token if its file does not say how; one
// that says it does not pool, or ranks, is refused.
func TestLanguageModelsAsEmbedders(t *testing.T) {
	e, err := openEmbedder(t, randomModel(t, tiny), nil)
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := e.Embed(t.Context(), percached.Foreground, []string{"the budget", "a gas contract", "the budget"})
	if err != nil {
		t.Fatal(err)
	}
	if i := e.Info(); i.Pooling != "last" || i.Dimensions != 128 || len(vectors[0]) != 128 {
		t.Errorf("info %+v", i)
	}
	dot := func(a, b []float32) (sum float64) {
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	if d := dot(vectors[0], vectors[2]); math.Abs(d-1) > 1e-6 {
		t.Errorf("equal texts have similarity %v", d)
	}
	if d := dot(vectors[0], vectors[1]); d > 0.99 {
		t.Errorf("different texts have similarity %v", d)
	}
	for _, pooling := range []uint32{0, 4} {
		_, err := openEmbedder(t, remade(t, tiny, map[string]any{"llama.pooling_type": pooling}, nil), nil)
		if fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "does not pool its tokens into one vector") {
			t.Errorf("pooling %d: %v", pooling, err)
		}
	}
}

// A gemma whose heads have 32 numbers as keys and 16 as values would end the
// process: it is refused.
func TestShortValues(t *testing.T) {
	path := remade(t, tiny, map[string]any{
		"general.architecture": "gemma", "gemma.block_count": uint32(1), "gemma.attention.value_length": uint32(16),
	}, func(b *gguf.Builder) {
		m := tensorMaker{b, newNumbers(35)}
		m.add("token_embd.weight", 0, 1, 128, 1024)
		m.add("output_norm.weight", 1, 0.1, 128)
		m.add("blk.0.attn_norm.weight", 1, 0.1, 128)
		m.add("blk.0.ffn_norm.weight", 1, 0.1, 128)
		m.matrix("blk.0.attn_q", 128, 128)
		m.matrix("blk.0.attn_k", 128, 64)
		m.matrix("blk.0.attn_v", 128, 32)
		m.matrix("blk.0.attn_output", 128, 128)
		m.matrix("blk.0.ffn_gate", 128, 256)
		m.matrix("blk.0.ffn_up", 128, 256)
		m.matrix("blk.0.ffn_down", 256, 128)
	})
	_, err := openFile(t, path, nil)
	if fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "llama.cpp wants them equal in a gemma") {
		t.Error(err)
	}
}

// Quantised K/V wants heads that are a multiple of 32: others are refused with
// the reason, and work in f16.
func TestHeadsThatDoNotDivide(t *testing.T) {
	path := remade(t, tiny, map[string]any{
		"llama.attention.head_count": uint32(8), "llama.attention.head_count_kv": uint32(4),
		"llama.attention.key_length": uint32(16), "llama.attention.value_length": uint32(16), "llama.rope.dimension_count": uint32(16),
	}, nil)
	for _, c := range []struct{ key, value string }{{"q8_0", "f16"}, {"f16", "q8_0"}, {"q4_0", "q4_0"}} {
		_, err := openFile(t, path, func(o *Config) { o.KeyType, o.ValueType = c.key, c.value })
		if fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "wants heads of a multiple of 32 numbers; this model's have 16") {
			t.Errorf("keys %s, values %s: %v", c.key, c.value, err)
		}
	}
	e, err := openFile(t, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := newNumbers(34).prompt(percached.Parallel, 10, 20, 30, 5)
	cold := generate(t, e, capturing(p))
	equal(t, "f16", cold, generate(t, e, with(p, cold.Slices, 7)))
}
