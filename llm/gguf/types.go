package gguf

import "fmt"

// Type is how a tensor's values are stored, numbered as in the file.
type Type uint32

// The types that this package can also decode or make.
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
	// weight says that llama.cpp can multiply by it or look rows up in it;
	// the others are for intermediate results or for integers.
	weight bool
}

// layoutOf has no entry for numbers that were taken back (4, 5, 31 to 33, 36 to 38).
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

// Kind is the type of a metadata value, numbered as in the file.
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
