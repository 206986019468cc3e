package static

import (
	"encoding/binary"
	"math"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/gguf"
)

// Blocks of q8_0: a scale of 16 bits, then 32 values of 8 bits.
const (
	blockValues = 32
	blockBytes  = 2 + blockValues
)

// maxValue is above every q8_0 and f16 value, and so small that no sum of rows overflows.
const maxValue = 1 << 24

// table is the rows as stored in the file. They are decoded when added: q8_0 needs a
// quarter of the memory of floats.
type table struct {
	data   []byte
	typ    gguf.Type
	dim    int
	stride int // bytes of a row
}

// add adds a row to sum, which has the same length. The products are exact in float32, so
// that machines with fused multiply-add get the same bits.
func (t *table) add(sum []float32, row int) {
	b := t.data[row*t.stride:][:t.stride]
	switch t.typ {
	case gguf.Q8_0:
		for ; len(b) >= blockBytes; b, sum = b[blockBytes:], sum[blockValues:] {
			addBlock((*[blockValues]float32)(sum), (*[blockBytes]byte)(b))
		}
	case gguf.F16:
		for i := range sum {
			sum[i] += gguf.FromHalf(binary.LittleEndian.Uint16(b))
			b = b[2:]
		}
	case gguf.F32:
		for i := range sum {
			sum[i] += math.Float32frombits(binary.LittleEndian.Uint32(b))
			b = b[4:]
		}
	}
}

// addBlock is the innermost loop: four at a time saved a fifth of a text's time.
func addBlock(sum *[blockValues]float32, b *[blockBytes]byte) {
	scale := gguf.FromHalf(binary.LittleEndian.Uint16(b[:]))
	q := (*[blockValues]byte)(b[2:])
	for i := 0; i < blockValues; i += 4 {
		s, q := (*[4]float32)(sum[i:]), (*[4]byte)(q[i:])
		s[0] += scale * float32(int8(q[0]))
		s[1] += scale * float32(int8(q[1]))
		s[2] += scale * float32(int8(q[2]))
		s[3] += scale * float32(int8(q[3]))
	}
}

// check refuses a row whose values are not finite or too large.
func (t *table) check() error {
	value, step := t.first, t.stride/t.dim
	if t.typ == gguf.Q8_0 { // checking the scales is enough
		step = blockBytes
	}
	for at := 0; at < len(t.data); at += step {
		if x := value(t.data[at:]); !(x >= -maxValue && x <= maxValue) {
			what := "holds"
			if t.typ == gguf.Q8_0 {
				what = "has the scale"
			}
			return fault.New(fault.Invalid, opOpen, "row %d of tensor %q %s %v: values are finite and at most %d",
				at/t.stride, tensorRows, what, x, maxValue)
		}
	}
	return nil
}

// first is the first value in b, or its block's scale.
func (t *table) first(b []byte) float32 {
	if t.typ == gguf.F32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	}
	return gguf.FromHalf(binary.LittleEndian.Uint16(b))
}
