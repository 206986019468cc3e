package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
)

// value is one metadata value. Numbers are kept as their bytes, so that an
// array of a million of them costs what it costs in the file.
type value struct {
	kind Kind
	elem Kind   // of an array
	n    int    // elements of an array
	raw  []byte // numbers and bools, one or many
	text string
	list []string
	at   int64 // where the value stands in the file
}

func (v *value) typeName() string {
	if v.kind == KindArray {
		return fmt.Sprintf("array of %d %s", v.n, v.elem)
	}
	return v.kind.String()
}

func (k Kind) isInteger() bool {
	switch k {
	case KindUint8, KindInt8, KindUint16, KindInt16, KindUint32, KindInt32, KindUint64, KindInt64:
		return true
	}
	return false
}

// integer reads one integer; a negative one as its two's complement.
func integer(k Kind, b []byte) (v uint64, negative bool) {
	switch k {
	case KindUint8, KindBool:
		return uint64(b[0]), false
	case KindUint16:
		return uint64(binary.LittleEndian.Uint16(b)), false
	case KindUint32:
		return uint64(binary.LittleEndian.Uint32(b)), false
	case KindUint64:
		return binary.LittleEndian.Uint64(b), false
	case KindInt8:
		s := int64(int8(b[0]))
		return uint64(s), s < 0
	case KindInt16:
		s := int64(int16(binary.LittleEndian.Uint16(b)))
		return uint64(s), s < 0
	case KindInt32:
		s := int64(int32(binary.LittleEndian.Uint32(b)))
		return uint64(s), s < 0
	case KindInt64:
		s := int64(binary.LittleEndian.Uint64(b))
		return uint64(s), s < 0
	}
	return 0, false
}

// number reads one number of any kind.
func number(k Kind, b []byte) float64 {
	switch k {
	case KindFloat32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case KindFloat64:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	v, negative := integer(k, b)
	if negative {
		return float64(int64(v))
	}
	return float64(v)
}

// Keys are the metadata keys in the order of the file.
func (f *File) Keys() []string { return append([]string(nil), f.keys...) }

// Has says whether the key is there.
func (f *File) Has(key string) bool { return f.meta[key] != nil }

// Kind is the kind of the value, or of the elements if it is an array; n is
// the number of elements, -1 when it is no array. ok is false without the key.
func (f *File) Kind(key string) (kind Kind, n int, ok bool) {
	v := f.meta[key]
	if v == nil {
		return 0, 0, false
	}
	if v.kind == KindArray {
		return v.elem, v.n, true
	}
	return v.kind, -1, true
}

// Len is the number of elements of an array, 0 when there is no such array.
func (f *File) Len(key string) int {
	if v := f.meta[key]; v != nil && v.kind == KindArray {
		return v.n
	}
	return 0
}

// Uint is an integer of any width that is not negative.
func (f *File) Uint(key string) (uint64, bool) {
	v := f.meta[key]
	if v == nil || !v.kind.isInteger() {
		return 0, false
	}
	u, negative := integer(v.kind, v.raw)
	return u, !negative
}

// Int is an integer of any width that fits.
func (f *File) Int(key string) (int64, bool) {
	v := f.meta[key]
	if v == nil || !v.kind.isInteger() {
		return 0, false
	}
	u, negative := integer(v.kind, v.raw)
	return int64(u), negative || u <= math.MaxInt64
}

// Float is a number of any kind.
func (f *File) Float(key string) (float64, bool) {
	v := f.meta[key]
	if v == nil || v.kind.size() == 0 || v.kind == KindBool {
		return 0, false
	}
	return number(v.kind, v.raw), true
}

// Bool is a bool.
func (f *File) Bool(key string) (value, ok bool) {
	v := f.meta[key]
	if v == nil || v.kind != KindBool {
		return false, false
	}
	return v.raw[0] != 0, true
}

// Str is a string.
func (f *File) Str(key string) (string, bool) {
	v := f.meta[key]
	if v == nil || v.kind != KindString {
		return "", false
	}
	return v.text, true
}

// Strs is an array of strings; the caller must not change it.
func (f *File) Strs(key string) ([]string, bool) {
	v := f.meta[key]
	if v == nil || v.kind != KindArray || v.elem != KindString {
		return nil, false
	}
	return v.list, true
}

// Ints is an array of integers; one too large for int64 makes it not ok.
func (f *File) Ints(key string) ([]int64, bool) {
	v := f.meta[key]
	if v == nil || v.kind != KindArray || !v.elem.isInteger() {
		return nil, false
	}
	out, size := make([]int64, v.n), v.elem.size()
	for i := range out {
		u, negative := integer(v.elem, v.raw[i*size:])
		if !negative && u > math.MaxInt64 {
			return nil, false
		}
		out[i] = int64(u)
	}
	return out, true
}

// Floats is an array of numbers.
func (f *File) Floats(key string) ([]float64, bool) {
	v := f.meta[key]
	if v == nil || v.kind != KindArray || v.elem.size() == 0 || v.elem == KindBool {
		return nil, false
	}
	out, size := make([]float64, v.n), v.elem.size()
	for i := range out {
		out[i] = number(v.elem, v.raw[i*size:])
	}
	return out, true
}
