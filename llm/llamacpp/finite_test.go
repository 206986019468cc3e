package llamacpp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
)

// damagedToken is one whose row of the embeddings is not made of numbers. The
// random prompts of these tests do not hold it.
const damagedToken = 700

// damagedRow is a model with such a row, which nothing else uses: its scores
// come of a matrix of their own.
func damagedRow(t *testing.T, o gguf.RandomOptions, set map[string]any) string {
	t.Helper()
	f, err := gguf.Open(randomModel(t, o))
	if err != nil {
		t.Fatal(err)
	}
	table, err := f.Values("token_embd.weight")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(randomModel(t, o))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	path := remade(t, o, set, func(b *gguf.Builder) {
		copyTensors(b, f, file)
		x, _ := f.Tensor("token_embd.weight")
		b.Tensor("output.weight", gguf.F32, x.Dims, gguf.FromFloats(table))
	})
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err = gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	x, _ := f.Tensor("token_embd.weight")
	for i := range x.Dims[0] {
		at := x.Offset + int64(4*(damagedToken*x.Dims[0]+i))
		binary.LittleEndian.PutUint32(b[at:], math.Float32bits(float32(math.NaN())))
	}
	write(t, path, string(b))
	return path
}

// Tensors that are not numbers are refused where they are computed, whether
// somebody wants to keep them or not, and no later run meets them.
func TestDamagedTensors(t *testing.T) {
	path := damagedRow(t, tiny, nil)
	for _, s := range settings {
		if s.key == "q4_0" && s.value == "q4_0" {
			continue // ggml makes zeros of them there, which do no harm
		}
		for _, placement := range []percached.Placement{percached.Sequential, percached.Parallel} {
			for _, kept := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s-%s-flash-%s/%d/kept %v", s.key, s.value, s.flash, placement, kept), func(t *testing.T) {
					e, err := openFile(t, path, func(c *Config) { c.KeyType, c.ValueType, c.FlashAttn = s.key, s.value, s.flash })
					if err != nil {
						t.Fatal(err)
					}
					r := newNumbers(41)
					bad, good := r.prompt(placement, 10, 90, 9), r.prompt(placement, 10, 30, 9)
					bad.Segments[1].Tokens[40] = damagedToken
					want := generate(t, e, capturing(good))
					if kept {
						bad = capturing(bad)
					}
					bad.MaxTokens = 0
					got, err := e.Prefill(t.Context(), bad)
					if fault.KindOf(err) != fault.Internal || !errors.Is(err, llm.ErrNotFinite) || got.Slices[1] != nil {
						t.Errorf("a slice: %v; error %v", got.Slices[1] != nil, err)
					}
					again := generate(t, e, capturing(good))
					equal(t, "afterwards", want, again)
					for i := range again.Slices {
						if !sameSlice(want.Slices[i], again.Slices[i]) {
							t.Errorf("slice %d is another afterwards", i)
						}
					}
				})
			}
		}
	}
}

// Where tensors cannot be looked at, a later run does not meet them either.
func TestDamagedTensorsWithoutSlices(t *testing.T) {
	e, err := openFile(t, damagedRow(t, plainAxes, severalAxes()), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newNumbers(42)
	bad, good := r.prompt(percached.Sequential, 10, 90, 9), r.prompt(percached.Sequential, 10, 30, 9)
	bad.Segments[1].Tokens[40] = damagedToken
	bad.MaxTokens = 0
	want := generate(t, e, good)
	if _, err := e.Prefill(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	equal(t, "afterwards", want, generate(t, e, good))
}

// Each number of a state is looked at.
func TestFinite(t *testing.T) {
	const n = 3
	half := func(v uint16) []byte { return binary.LittleEndian.AppendUint16(nil, v) }
	for i, l := range layouts() {
		plain := exact(l, 40, n, nil)
		if !l.finite(plain, n) {
			t.Errorf("layout %d: zeros are not numbers", i)
		}
		for layer := range l.layers {
			w := l.layers[layer]
			for name, rows := range map[string]struct{ at, size, step int }{
				"keys":   {l.keys(layer, 12)(n), n * int(w.keyRow), map[int32]int{1: 2, 8: 34}[w.keyType]},
				"values": {l.values(layer, 12)(n), n * int(w.valueRow), map[int32]int{1: 2, 2: 18}[w.valueType]},
			} {
				for at := 0; at < rows.size; at += rows.step {
					for v, want := range map[uint16]bool{0x7c00: false, 0xfc00: false, 0x7e00: false, 0x7c01: false, 0xffff: false, 0x7bff: true, 0xfbff: true, 0x83ff: true} {
						b := append([]byte(nil), plain...)
						copy(b[rows.at+at:], half(v))
						if got := l.finite(b, n); got != want {
							t.Errorf("layout %d, %s of layer %d, byte %d: %#x is a number: %v", i, name, layer, at, v, got)
						}
					}
				}
			}
		}
	}
}
