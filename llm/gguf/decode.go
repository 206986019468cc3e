package gguf

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/percached/percached/internal/base/fault"
)

// Values reads a whole tensor as float32, row after row. It knows f32, f16,
// bf16, q8_0 and q4_0.
func (f *File) Values(name string) ([]float32, error) {
	t, ok := f.Tensor(name)
	if !ok {
		return nil, fault.New(fault.NotFound, opRead, "there is no tensor %q", name)
	}
	decode := decoder(t.Type)
	if decode == nil {
		return nil, fault.New(fault.Unsupported, opRead, "tensor %q is %v, whose values cannot be read here", name, t.Type)
	}
	raw := make([]byte, t.Size)
	if n, err := f.src.ReadAt(raw, t.Offset); n < len(raw) {
		if err == io.EOF {
			return nil, fault.New(fault.Invalid, opRead, "the file has become shorter: tensor %q ends behind it", name)
		}
		return nil, fault.New(fault.Unavailable, opRead, "tensor %q: %w", name, err)
	}
	l, _ := layoutOf(t.Type)
	out := make([]float32, t.Elements())
	for i := 0; i < len(out); i += int(l.values) {
		decode(out[i:i+int(l.values)], raw)
		raw = raw[l.bytes:]
	}
	return out, nil
}

// decoder makes values of one block.
func decoder(t Type) func(out []float32, b []byte) {
	switch t {
	case F32:
		return func(out []float32, b []byte) { out[0] = math.Float32frombits(binary.LittleEndian.Uint32(b)) }
	case F16:
		return func(out []float32, b []byte) { out[0] = FromHalf(binary.LittleEndian.Uint16(b)) }
	case BF16:
		return func(out []float32, b []byte) {
			out[0] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
		}
	case Q8_0:
		return func(out []float32, b []byte) {
			scale := FromHalf(binary.LittleEndian.Uint16(b))
			for i := range out {
				out[i] = scale * float32(int8(b[2+i]))
			}
		}
	case Q4_0:
		// The low halves of the bytes are the first 16 values.
		return func(out []float32, b []byte) {
			scale := FromHalf(binary.LittleEndian.Uint16(b))
			for i, q := range b[2:18] {
				out[i] = scale * float32(int(q&15)-8)
				out[i+16] = scale * float32(int(q>>4)-8)
			}
		}
	}
	return nil
}
