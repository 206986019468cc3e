package gguf

import (
	"bytes"
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

func put(w *bytes.Buffer, v any) { binary.Write(w, binary.LittleEndian, v) } // a Buffer never fails

func putString(w *bytes.Buffer, s string) {
	put(w, uint64(len(s)))
	w.WriteString(s)
}

func kindOf(v any) (k Kind, array bool) {
	switch v.(type) {
	case uint8, []uint8:
		k = KindUint8
	case int8, []int8:
		k = KindInt8
	case uint16, []uint16:
		k = KindUint16
	case int16, []int16:
		k = KindInt16
	case uint32, []uint32:
		k = KindUint32
	case int32, []int32:
		k = KindInt32
	case float32, []float32:
		k = KindFloat32
	case bool, []bool:
		k = KindBool
	case string, []string:
		k = KindString
	case uint64, []uint64:
		k = KindUint64
	case int64, []int64:
		k = KindInt64
	case float64, []float64:
		k = KindFloat64
	default:
		return kindCount, false
	}
	switch v.(type) {
	case []uint8, []int8, []uint16, []int16, []uint32, []int32, []float32, []bool, []string, []uint64, []int64, []float64:
		array = true
	}
	return k, array
}

func putValue(w *bytes.Buffer, v any) {
	k, array := kindOf(v)
	if array {
		put(w, uint32(KindArray))
	}
	put(w, uint32(k))
	switch v := v.(type) {
	case string:
		putString(w, v)
	case []string:
		put(w, uint64(len(v)))
		for _, s := range v {
			putString(w, s)
		}
	default:
		if array {
			put(w, uint64(binary.Size(v)/max(k.size(), 1)))
		}
		put(w, v)
	}
}

// half rounds to the nearest 16-bit float, ties to even.
func half(v float32) uint16 {
	b := math.Float32bits(v)
	sign := uint16(b >> 16 & 0x8000)
	exp := int(b>>23&0xff) - 127
	man := b & 0x7fffff
	switch {
	case exp == 128: // infinity, not a number
		if man != 0 {
			return sign | 0x7e00
		}
		return sign | 0x7c00
	case exp > 15:
		return sign | 0x7c00
	case exp >= -14:
		h := uint32(exp+15)<<10 | man>>13
		return sign | uint16(roundUp(h, man&0x1fff, 0x1000))
	case exp >= -25: // denormal
		man |= 0x800000
		shift := uint(-exp - 1)
		h := man >> shift
		return sign | uint16(roundUp(h, man&(1<<shift-1), 1<<(shift-1)))
	}
	return sign
}

func roundUp(h, rest, middle uint32) uint32 {
	if rest > middle || rest == middle && h&1 == 1 {
		h++
	}
	return h
}

// FromHalf is the value of a 16-bit float, exactly.
func FromHalf(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h >> 10 & 0x1f)
	man := uint32(h & 0x3ff)
	switch exp {
	case 0:
		v := float32(man) / (1 << 24)
		if sign != 0 {
			v = -v
		}
		return v
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}
