package llamacpp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/gguf"
)

// fromHalf reads a 16-bit float.
func fromHalf(h uint16) float64 {
	sign, exp, man := 1.0, int(h>>10&31), float64(h&1023)
	if h&0x8000 != 0 {
		sign = -1
	}
	if exp == 0 {
		return sign * math.Ldexp(man, -24)
	}
	return sign * math.Ldexp(1024+man, exp-25)
}

func halves(b []byte) []float64 {
	out := make([]float64, len(b)/2)
	for i := range out {
		out[i] = fromHalf(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return out
}

// stored is what a slice holds, read from its bytes: [layer][token][number].
type stored struct{ q, k [][][]float64 }

// readSlice takes a slice with keys in f16 apart.
func readSlice(t *testing.T, e *Engine, sl *percached.Slice) stored {
	t.Helper()
	layers := e.Info().Layers
	s := stored{q: make([][][]float64, layers), k: make([][][]float64, layers)}
	for _, p := range sl.Pieces {
		n := p.To - p.From
		r := blobReader{b: p.KV}
		r.skip(e.cache.layout.behindTokens(0)(n))
		if r.u32(); int(r.u32()) != layers {
			t.Fatalf("a piece has not %d layers", layers)
		}
		for l := range layers {
			if kind := r.u32(); kind != kvTypes["f16"] {
				t.Fatalf("keys are of type %d", kind)
			}
			s.k[l] = append(s.k[l], rows(r.take(n*int(r.u64())), n)...)
		}
		if r.bad {
			t.Fatal("a piece is cut short")
		}
		queries := rows(p.Q, layers*n)
		for l := range layers {
			s.q[l] = append(s.q[l], queries[l*n:(l+1)*n]...)
		}
	}
	return s
}

func rows(b []byte, n int) [][]float64 {
	var out [][]float64
	for row := range slices.Chunk(halves(b), len(b)/2/n) {
		out = append(out, row)
	}
	return out
}

func (s *stored) append(o stored) {
	for l := range s.q {
		s.q[l], s.k[l] = append(s.q[l], o.q[l]...), append(s.k[l], o.k[l]...)
	}
}

// qkv asks for slices with queries.
func qkv(p percached.Prompt) percached.Prompt {
	p = capturing(p)
	p.Planes = percached.QKV
	return p
}

// furthest is the largest distance between two tables of numbers.
func furthest(t *testing.T, a, b [][]float64) float64 {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%d rows and %d", len(a), len(b))
	}
	worst := 0.0
	for i := range a {
		if len(a[i]) != len(b[i]) {
			t.Fatalf("row %d has %d numbers and %d", i, len(a[i]), len(b[i]))
		}
		for j := range a[i] {
			worst = max(worst, math.Abs(a[i][j]-b[i][j]))
		}
	}
	return worst
}

// The queries and keys of slices are those of the model, and from them come the
// attention weights of every token over all tokens before it, as an independent
// computation has them.
func TestQueriesReproduceAttention(t *testing.T) {
	for _, arch := range []string{"llama", "qwen2", "qwen3"} {
		for _, flash := range []string{"on", "off"} {
			t.Run(arch+"/flash-"+flash, func(t *testing.T) {
				o := gguf.RandomOptions{Shape: "tiny", Architecture: arch, Seed: 11, Type: "f32"}
				e := open(t, o, func(c *Config) { c.FlashAttn, c.piece = flash, 10<<10 })
				m := newForward(t, randomModel(t, o))
				r := newNumbers(21)

				p := r.prompt(percached.Sequential, 11, 40, 23, 5)
				got := generate(t, e, qkv(p)).Slices
				if len(got[1].Pieces) < 2 {
					t.Fatal("a slice of one piece: pieces are not tried")
				}
				checkAttention(t, e, m, got[0], got[1], got[2])

				p = r.prompt(percached.Parallel, 9, 37, 20, 5)
				got = generate(t, e, qkv(p)).Slices
				checkAttention(t, e, m, got[0], got[1])
				checkAttention(t, e, m, got[0], got[2])
			})
		}
	}
}

// checkAttention holds slices that stand behind each other against the
// independent computation.
func checkAttention(t *testing.T, e *Engine, m *forward, path ...*percached.Slice) {
	t.Helper()
	var tokens []int32
	have := readSlice(t, e, path[0])
	for i, s := range path {
		tokens = append(tokens, s.Tokens...)
		if i > 0 {
			have.append(readSlice(t, e, s))
		}
	}
	for l, want := range m.run(tokens) {
		// Numbers up to 8 are rounded to 1/256 and may fall either way. Flash
		// attention also sums values in half precision, which adds up from
		// layer to layer.
		near, nearWeights := 1./128, 2e-3
		if l > 0 && e.Info().FlashAttn {
			near, nearWeights = 1./25, 1e-2
		}
		if d := furthest(t, want.q, have.q[l]); d > near {
			t.Errorf("layer %d: queries are off by %.4f", l, d)
		}
		if d := furthest(t, want.k, have.k[l]); d > near {
			t.Errorf("layer %d: keys are off by %.4f", l, d)
		}
		weights := func(q, k [][]float64) [][]float64 { return slices.Concat(m.attend(q, k)...) }
		if d := furthest(t, slices.Concat(want.weights...), weights(have.q[l], have.k[l])); d > nearWeights {
			t.Errorf("layer %d: attention weights are off by %.5f", l, d)
		}
		other := (l + 1) % m.layers
		if d := furthest(t, slices.Concat(want.weights...), weights(have.q[other], have.k[l])); d < 0.2 {
			t.Errorf("layer %d: with the queries of layer %d weights are off by %.5f only: the test could not fail", l, other, d)
		}
	}
}

// Queries are an addition: keys and values are the same without them.
func TestQueriesChangeNothingElse(t *testing.T) {
	for _, place := range []percached.Placement{percached.Sequential, percached.Parallel} {
		for _, s := range settings {
			t.Run(fmt.Sprintf("%d/%s-%s-%s", place, s.key, s.value, s.flash), func(t *testing.T) {
				e := open(t, gguf.RandomOptions{Shape: "tiny", Architecture: "qwen3", Seed: 4}, func(c *Config) {
					c.KeyType, c.ValueType, c.FlashAttn, c.piece = s.key, s.value, s.flash, 30<<10
				})
				p := newNumbers(22).prompt(place, 13, 70, 33, 6)
				without, queried := generate(t, e, capturing(p)), generate(t, e, qkv(p))
				equal(t, "computed with queries", without, queried)
				info := e.Info()
				for i, sl := range queried.Slices[:3] {
					bare := *sl
					bare.Planes, bare.Pieces = percached.KV, slices.Clone(sl.Pieces)
					bytesQ := 0
					for j := range bare.Pieces {
						bytesQ += len(bare.Pieces[j].Q)
						bare.Pieces[j].Q = nil
					}
					if !sameSlice(&bare, without.Slices[i]) {
						t.Errorf("segment %d: keys or values differ", i)
					}
					if want := 2 * info.Layers * len(sl.Tokens) * info.Width; bytesQ != want {
						t.Errorf("segment %d: %d bytes of queries, want %d", i, bytesQ, want)
					}
				}
				for mask := range 8 {
					if place == percached.Sequential && mask&(mask+1) != 0 {
						continue
					}
					warm := generate(t, e, with(qkv(p), queried.Slices, mask))
					equal(t, fmt.Sprintf("restored %03b", mask), without, warm)
					for i := range 3 {
						if sl := warm.Slices[i]; sl != nil && !sameSlice(sl, queried.Slices[i]) {
							t.Errorf("restored %03b: segment %d is captured differently", mask, i)
						}
					}
				}
			})
		}
	}
}

// Queries of a slice that are cut short, missing or not announced are refused.
func TestDamagedQueriesAreRefused(t *testing.T) {
	e := open(t, tiny, nil)
	p := newNumbers(23).prompt(percached.Sequential, 10, 20, 5)
	got := generate(t, e, qkv(p))
	before := bytes.Clone(got.Slices[1].Pieces[0].Q)
	for name, change := range map[string]func(s *percached.Slice, p *percached.Piece){
		"cut short":     func(_ *percached.Slice, p *percached.Piece) { p.Q = p.Q[:len(p.Q)-2] },
		"a row less":    func(_ *percached.Slice, p *percached.Piece) { p.Q = p.Q[:len(p.Q)-2*e.Info().Width] },
		"too long":      func(_ *percached.Slice, p *percached.Piece) { p.Q = append(bytes.Clone(p.Q), 0, 0) },
		"none":          func(_ *percached.Slice, p *percached.Piece) { p.Q = nil },
		"not announced": func(s *percached.Slice, _ *percached.Piece) { s.Planes = percached.KV },
		"a bit":         func(_ *percached.Slice, p *percached.Piece) { p.Q = bytes.Clone(p.Q); p.Q[7] ^= 1; p.Sum++ },
	} {
		bad := *got.Slices[1]
		bad.Pieces = slices.Clone(bad.Pieces)
		change(&bad, &bad.Pieces[0])
		if name != "a bit" {
			bad.Pieces[0].Sum = bad.Pieces[0].Checksum()
		}
		_, err := e.Generate(t.Context(), with(p, []*percached.Slice{got.Slices[0], &bad, nil}, 3), nil)
		var refused *percached.SliceError
		if !errors.As(err, &refused) || refused.Segment != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	equal(t, "the sound ones", got, generate(t, e, with(p, got.Slices, 3)))
	if !bytes.Equal(before, got.Slices[1].Pieces[0].Q) {
		t.Error("the queries of a slice were changed by its use")
	}
}
