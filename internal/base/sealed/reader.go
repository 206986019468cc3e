package sealed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// ErrDamaged says that a record is not as it was written.
var ErrDamaged = errors.New("a record is damaged")

// Reader takes a record apart.
type Reader struct {
	version byte
	b       []byte
	bad     bool
}

// NewReader checks the checksum of the record under a key, and that its version
// is from first to latest. A later one is Unsupported.
func NewReader(key, value []byte, first, latest byte) (*Reader, error) {
	n := len(value) - 4
	if n < 1 || sum(key, value[:n]) != binary.LittleEndian.Uint32(value[n:]) {
		return nil, ErrDamaged
	}
	switch v := value[0]; {
	case v > latest:
		return nil, fault.New(fault.Unsupported, "sealed.NewReader", "a record of version %d, later than %d", v, latest)
	case v < first:
		return nil, ErrDamaged
	}
	return &Reader{version: value[0], b: value[1:n]}, nil
}

// Version is the record's.
func (r *Reader) Version() byte { return r.version }

// Fail notes that a field cannot be what it is.
func (r *Reader) Fail() { r.bad = true }

// Take gives the next bytes; nil if there are not so many.
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

// Flag reads a byte of which one bit may be set.
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

// Int reads a number that is never below zero.
func (r *Reader) Int() int64 {
	n := int64(r.U64())
	if n < 0 {
		r.bad = true
		return 0
	}
	return n
}

// Float reads a finite number that is never below zero.
func (r *Reader) Float() float64 {
	x := math.Float64frombits(r.U64())
	if !(x >= 0) || math.IsInf(x, 0) {
		r.bad = true
		return 0
	}
	return x
}

// Count reads how many pieces of so many bytes follow; more than there are bytes
// for is damage, found before anything is made for them.
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

// Time reads what Writer.Time writes.
func (r *Reader) Time() time.Time {
	if n := int64(r.U64()); n != 0 {
		return time.Unix(0, n).UTC()
	}
	return time.Time{}
}

// End says whether all was read, and was as it should be.
func (r *Reader) End(what string) error {
	if r.bad || len(r.b) != 0 {
		return fmt.Errorf("%w: %s", ErrDamaged, what)
	}
	return nil
}
