package gguf

import (
	"bytes"
	"encoding/binary"
)

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
