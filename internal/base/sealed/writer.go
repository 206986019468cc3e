package sealed

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"time"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer puts a record together.
type Writer struct{ key, b []byte }

// NewWriter begins the record that will lie under a key.
func NewWriter(version byte, key []byte) *Writer { return &Writer{key: key, b: []byte{version}} }

// Byte writes one byte.
func (w *Writer) Byte(x byte) { w.b = append(w.b, x) }

// U64 writes eight bytes.
func (w *Writer) U64(x uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, x) }

// Int writes a number as U64.
func (w *Writer) Int(x int64) { w.U64(uint64(x)) }

// Float writes the bits of a number as U64.
func (w *Writer) Float(x float64) { w.U64(math.Float64bits(x)) }

// Float32 writes the bits of a number, four bytes.
func (w *Writer) Float32(x float32) { w.b = binary.LittleEndian.AppendUint32(w.b, math.Float32bits(x)) }

// Count says how many pieces follow.
func (w *Writer) Count(n int) { w.b = binary.AppendUvarint(w.b, uint64(n)) }

// Raw writes bytes as they are.
func (w *Writer) Raw(p []byte) { w.b = append(w.b, p...) }

// Text writes a text behind its length.
func (w *Writer) Text(s string) { w.Count(len(s)); w.b = append(w.b, s...) }

// Time writes nanoseconds since 1970, and 0 for the zero time.
func (w *Writer) Time(t time.Time) {
	if t.IsZero() {
		w.U64(0)
		return
	}
	w.Int(t.UnixNano())
}

// Seal ends the record.
func (w *Writer) Seal() []byte { return binary.LittleEndian.AppendUint32(w.b, sum(w.key, w.b)) }

func sum(key, b []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, b)
}
