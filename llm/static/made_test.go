package static

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/llm/gguf"
)

// recipe is a table to be made.
type recipe struct {
	tokens   []string
	dim      int
	hashed   int
	context  int
	typ      gguf.Type
	set      map[string]any // metadata changed, or left out where nil
	dims     []uint64       // if not those that are right
	bytes    func(b []byte) // damages the rows
	name     string         // of the tensor, if not the right one
	another  bool           // one tensor more
	noTensor bool
}

func small() recipe {
	tokens := strings.Fields(`▁the ▁train ▁leaves ▁at ▁nine ▁report ▁is ▁due ▁on ▁tuesday ▁anna ▁lost ▁her ▁red
▁word ▁and ▁another ▁zurich ▁short ▁. ▁, ▁? ▁議 s ing vor mittag ▁`)
	for _, c := range "abcdefghijklmnopqrstuvwxyz0123456789" {
		if c != 's' {
			tokens = append(tokens, string(c))
		}
	}
	return recipe{tokens: append(tokens, "s "), dim: 64, hashed: 40, context: 32, typ: gguf.Q8_0}
}

// half is near enough, for values that f16 does not hold as denormals.
func half(x float32) uint16 {
	b := math.Float32bits(x)
	sign, abs := uint16(b>>16&0x8000), b&0x7fffffff
	if abs < 113<<23 {
		return sign
	}
	return sign | uint16((abs+0x1000)>>13-112<<10)
}

// encodeRows stores values as a type does.
func encodeRows(values []float32, typ gguf.Type) []byte {
	var b []byte
	switch typ {
	case gguf.F32:
		for _, x := range values {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
	case gguf.F16:
		for _, x := range values {
			b = binary.LittleEndian.AppendUint16(b, half(x))
		}
	case gguf.Q8_0:
		for ; len(values) > 0; values = values[blockValues:] {
			most := 0.0
			for _, x := range values[:blockValues] {
				most = max(most, math.Abs(float64(x)))
			}
			scale := half(float32(most / 127))
			b = binary.LittleEndian.AppendUint16(b, scale)
			for _, x := range values[:blockValues] {
				q := math.Round(float64(x) / float64(gguf.FromHalf(scale)))
				b = append(b, byte(int8(max(-127, min(127, q)))))
			}
		}
	}
	return b
}

// encode makes the file; equal recipes have equal values whatever the type.
func (r recipe) encode(t testing.TB) []byte {
	t.Helper()
	b := &gguf.Builder{}
	pairs := []struct {
		key   string
		value any
	}{
		{"general.architecture", "static"},
		{"general.name", "small"},
		{"general.license", "Apache-2.0"},
		{keyVersion, uint32(1)},
		{keyDim, uint32(r.dim)},
		{keyContext, uint32(r.context)},
		{keyHashed, uint32(r.hashed)},
		{keyThreshold, float32(0.75)},
		{keyModel, "static"},
		{keyTokens, r.tokens},
	}
	for _, p := range pairs {
		if v, ok := r.set[p.key]; ok {
			p.value = v
		}
		if p.value != nil {
			b.Set(p.key, p.value)
		}
	}
	dims := r.dims
	if dims == nil {
		dims = []uint64{uint64(r.dim), uint64(len(r.tokens) + r.hashed)}
	}
	n := uint64(1)
	for _, d := range dims {
		n *= d
	}
	rng := rand.New(rand.NewPCG(1, 2))
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(rng.NormFloat64())
	}
	data := encodeRows(values, r.typ)
	if r.bytes != nil {
		r.bytes(data)
	}
	name := tensorRows
	if r.name != "" {
		name = r.name
	}
	if !r.noTensor {
		b.Tensor(name, r.typ, dims, func(p []byte, at int64) error {
			if len(data) > 0 {
				copy(p, data[at:])
			}
			return nil
		})
	}
	if r.another {
		b.Tensor("another.weight", gguf.F32, []uint64{1}, gguf.FromFloats([]float32{1}))
	}
	path := filepath.Join(t.TempDir(), "x.gguf")
	if err := b.WriteFile(path, nil); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func (r recipe) open(t testing.TB) *Embedder {
	t.Helper()
	e, err := Parse(context.Background(), "small", r.encode(t))
	if err != nil {
		t.Fatal(err)
	}
	return e
}
