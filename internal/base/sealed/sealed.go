package sealed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer encodes a record.
type Writer struct{ key, b []byte }

// NewWriter begins a record that will be stored under key.
func NewWriter(version byte, key []byte) *Writer { return &Writer{key: key, b: []byte{version}} }

// Byte writes one byte.
func (w *Writer) Byte(x byte) { w.b = append(w.b, x) }

// U64 writes eight bytes.
func (w *Writer) U64(x uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, x) }

// Int writes a number as U64.
func (w *Writer) Int(x int64) { w.U64(uint64(x)) }

// Float writes the bits of a float64.
func (w *Writer) Float(x float64) { w.U64(math.Float64bits(x)) }

// Float32 writes the bits of a float32.
func (w *Writer) Float32(x float32) { w.b = binary.LittleEndian.AppendUint32(w.b, math.Float32bits(x)) }

// Count writes how many items follow.
func (w *Writer) Count(n int) { w.b = binary.AppendUvarint(w.b, uint64(n)) }

// Raw writes bytes unchanged.
func (w *Writer) Raw(p []byte) { w.b = append(w.b, p...) }

// Text writes the length of a text and the text.
func (w *Writer) Text(s string) { w.Count(len(s)); w.b = append(w.b, s...) }

// Time writes nanoseconds since 1970, and 0 for the zero time.
func (w *Writer) Time(t time.Time) {
	if t.IsZero() {
		w.U64(0)
		return
	}
	w.Int(t.UnixNano())
}

// Seal appends the checksum and returns the record.
func (w *Writer) Seal() []byte { return binary.LittleEndian.AppendUint32(w.b, sum(w.key, w.b)) }

func sum(key, b []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, b)
}

// ErrDamaged says that a record differs from what was written.
var ErrDamaged = errors.New("the record is damaged")

// Reader decodes a record.
type Reader struct {
	version byte
	b       []byte
	bad     bool
}

// NewReader checks the record's checksum under a key, and that its version is between first and
// latest. A later version is Unsupported.
func NewReader(key, value []byte, first, latest byte) (*Reader, error) {
	n := len(value) - 4
	if n < 1 || sum(key, value[:n]) != binary.LittleEndian.Uint32(value[n:]) {
		return nil, ErrDamaged
	}
	switch v := value[0]; {
	case v > latest:
		return nil, fault.New(fault.Unsupported, "sealed.NewReader", "the record has version %d and this percached reads up to version %d", v, latest)
	case v < first:
		return nil, ErrDamaged
	}
	return &Reader{version: value[0], b: value[1:n]}, nil
}

// Version returns the record's version.
func (r *Reader) Version() byte { return r.version }

// Fail marks the record as damaged, because a field has an impossible value.
func (r *Reader) Fail() { r.bad = true }

// Take returns the next n bytes, or nil if fewer are left.
func (r *Reader) Take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if p := r.Take(1); p != nil {
		return p[0]
	}
	return 0
}

// Flag reads a byte that must be 0 or 1.
func (r *Reader) Flag() bool {
	b := r.Byte()
	r.bad = r.bad || b > 1
	return b == 1
}

// U64 reads eight bytes.
func (r *Reader) U64() uint64 {
	if p := r.Take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

// Int reads a number that is at least 0.
func (r *Reader) Int() int64 {
	n := int64(r.U64())
	if n < 0 {
		r.bad = true
		return 0
	}
	return n
}

// Float reads a finite number that is at least 0.
func (r *Reader) Float() float64 {
	x := math.Float64frombits(r.U64())
	if !(x >= 0) || math.IsInf(x, 0) {
		r.bad = true
		return 0
	}
	return x
}

// Count reads how many items of at least size bytes follow. A count that exceeds limit or the
// remaining bytes is damage, so the caller can allocate safely.
func (r *Reader) Count(limit, size int) int {
	n, used := binary.Uvarint(r.b)
	if r.bad || used <= 0 || n > uint64(limit) || n*uint64(size) > uint64(len(r.b)-used) {
		r.bad = true
		return 0
	}
	r.b = r.b[used:]
	return int(n)
}

// Text reads a text of at most limit bytes.
func (r *Reader) Text(limit int) string { return string(r.Take(r.Count(limit, 1))) }

// Time reads a time written by Writer.Time.
func (r *Reader) Time() time.Time {
	if n := int64(r.U64()); n != 0 {
		return time.Unix(0, n).UTC()
	}
	return time.Time{}
}

// End returns an error if the record is damaged or has unread bytes.
func (r *Reader) End(what string) error {
	if r.bad || len(r.b) != 0 {
		return fmt.Errorf("%w: %s", ErrDamaged, what)
	}
	return nil
}
