package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Type is how a tensor's values are stored, with the file's numbers.
type Type uint32

// The types that this package can also decode or create.
const (
	F32  Type = 0
	F16  Type = 1
	Q4_0 Type = 2
	Q8_0 Type = 8
	I32  Type = 26
	BF16 Type = 30
)

// layout of a type: values per block and bytes per block. A row is whole blocks.
type layout struct {
	name   string
	values uint64
	bytes  uint64
	// weight reports whether llama.cpp can multiply by it or look up rows in it; other
	// types are for intermediate results or integers.
	weight bool
}

// layoutOf has no entry for withdrawn numbers (4, 5, 31 to 33, 36 to 38).
func layoutOf(t Type) (layout, bool) {
	l, ok := map[Type]layout{
		F32: {"f32", 1, 4, true}, F16: {"f16", 1, 2, true}, BF16: {"bf16", 1, 2, true},
		Q4_0: {"q4_0", 32, 18, true}, 3: {"q4_1", 32, 20, true}, 6: {"q5_0", 32, 22, true}, 7: {"q5_1", 32, 24, true},
		Q8_0: {"q8_0", 32, 34, true}, 9: {"q8_1", 32, 36, false},
		10: {"q2_K", 256, 84, true}, 11: {"q3_K", 256, 110, true}, 12: {"q4_K", 256, 144, true},
		13: {"q5_K", 256, 176, true}, 14: {"q6_K", 256, 210, true}, 15: {"q8_K", 256, 292, false},
		16: {"iq2_xxs", 256, 66, true}, 17: {"iq2_xs", 256, 74, true}, 18: {"iq3_xxs", 256, 98, true},
		19: {"iq1_s", 256, 50, true}, 20: {"iq4_nl", 32, 18, true}, 21: {"iq3_s", 256, 110, true},
		22: {"iq2_s", 256, 82, true}, 23: {"iq4_xs", 256, 136, true}, 29: {"iq1_m", 256, 56, true},
		24: {"i8", 1, 1, false}, 25: {"i16", 1, 2, false}, I32: {"i32", 1, 4, false}, 27: {"i64", 1, 8, false},
		28: {"f64", 1, 8, false}, 34: {"tq1_0", 256, 54, true}, 35: {"tq2_0", 256, 66, true}, 39: {"mxfp4", 32, 17, true},
	}[t]
	return l, ok
}

func (t Type) String() string {
	if l, ok := layoutOf(t); ok {
		return l.name
	}
	return fmt.Sprintf("type(%d)", uint32(t))
}

// Kind is the type of a metadata value, with the file's numbers.
type Kind uint32

// The kinds of metadata.
const (
	KindUint8 Kind = iota
	KindInt8
	KindUint16
	KindInt16
	KindUint32
	KindInt32
	KindFloat32
	KindBool
	KindString
	KindArray
	KindUint64
	KindInt64
	KindFloat64
	kindCount
)

func (k Kind) String() string {
	names := [...]string{"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "bool", "string", "array", "uint64", "int64", "float64"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind(%d)", uint32(k))
}

// size in bytes of one value; 0 for strings and arrays, whose size varies.
func (k Kind) size() int {
	switch k {
	case KindUint8, KindInt8, KindBool:
		return 1
	case KindUint16, KindInt16:
		return 2
	case KindUint32, KindInt32, KindFloat32:
		return 4
	case KindUint64, KindInt64, KindFloat64:
		return 8
	}
	return 0
}

// value is one metadata value. Numbers stay bytes, so that an array of a million of them
// needs no more memory than in the file.
type value struct {
	kind Kind
	elem Kind   // of an array
	n    int    // elements of an array
	raw  []byte // numbers and bools, one or many
	text string
	list []string
	at   int64 // position of the value in the file
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

// Has reports whether the key exists.
func (f *File) Has(key string) bool { return f.meta[key] != nil }

// Kind is the kind of the value, or of an array's elements; n is the number of elements,
// -1 if it is not an array. ok is false if the key is missing.
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

// Len is the number of elements of an array, 0 if it does not exist.
func (f *File) Len(key string) int {
	if v := f.meta[key]; v != nil && v.kind == KindArray {
		return v.n
	}
	return 0
}

// Uint is a non-negative integer of any width.
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

// Ints is an array of integers; ok is false if one exceeds int64.
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
