package scheduler

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"github.com/percached/percached/internal/fault"
)

// formatVersion is the first byte of every value.
const formatVersion = 1

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errDamaged = errors.New("a record of the scheduler is damaged")
)

// writer puts a record together. Its checksum covers the key too, so that no
// record stands for another.
type writer struct{ key, b []byte }

func newWriter(key []byte) *writer { return &writer{key: key, b: []byte{formatVersion}} }

func (w *writer) byte(x byte)     { w.b = append(w.b, x) }
func (w *writer) u64(x uint64)    { w.b = binary.LittleEndian.AppendUint64(w.b, x) }
func (w *writer) int(x int64)     { w.u64(uint64(x)) }
func (w *writer) float(x float64) { w.u64(math.Float64bits(x)) }
func (w *writer) count(n int)     { w.b = binary.AppendUvarint(w.b, uint64(n)) }
func (w *writer) raw(p []byte)    { w.b = append(w.b, p...) }
func (w *writer) text(s string)   { w.count(len(s)); w.b = append(w.b, s...) }

func (w *writer) time(t time.Time) {
	if t.IsZero() {
		w.u64(0)
		return
	}
	w.int(t.UnixNano())
}

func (w *writer) seal() []byte { return binary.LittleEndian.AppendUint32(w.b, sumOf(w.key, w.b)) }

func sumOf(key, b []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, b)
}

// reader takes a record apart; its first failure sticks.
type reader struct {
	b   []byte
	bad bool
}

// newReader checks version and checksum.
func newReader(key, value []byte) (*reader, error) {
	n := len(value) - 4
	if n < 1 || sumOf(key, value[:n]) != binary.LittleEndian.Uint32(value[n:]) {
		return nil, errDamaged
	}
	if value[0] > formatVersion {
		return nil, fault.New(fault.Unsupported, "scheduler: decode", "a record of version %d, later than %d", value[0], formatVersion)
	}
	if value[0] != formatVersion {
		return nil, errDamaged
	}
	return &reader{b: value[1:n]}, nil
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

func (r *reader) byte() byte {
	if p := r.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (r *reader) u64() uint64 {
	if p := r.take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

// int reads a number that is never below zero.
func (r *reader) int() int64 {
	n := int64(r.u64())
	if n < 0 {
		r.bad = true
		return 0
	}
	return n
}

func (r *reader) float() float64 {
	x := math.Float64frombits(r.u64())
	if !(x >= 0) || math.IsInf(x, 0) {
		r.bad = true
		return 0
	}
	return x
}

// count reads how many pieces of so many bytes follow; more than there are
// bytes for is damage, found before anything is made for them.
func (r *reader) count(limit, size int) int {
	n, used := binary.Uvarint(r.b)
	if r.bad || used <= 0 || n > uint64(limit) || n*uint64(size) > uint64(len(r.b)-used) {
		r.bad = true
		return 0
	}
	r.b = r.b[used:]
	return int(n)
}

func (r *reader) text(limit int) string { return string(r.take(r.count(limit, 1))) }

func (r *reader) time() time.Time {
	if n := int64(r.u64()); n != 0 {
		return time.Unix(0, n).UTC()
	}
	return time.Time{}
}

// kind reads the name of a kind.
func (r *reader) kind() Kind {
	k := Kind(r.text(maxName))
	if k.rank() < 0 {
		r.bad = true
	}
	return k
}

func (r *reader) end(what string) error {
	if r.bad || len(r.b) != 0 {
		return fmt.Errorf("%w: %s", errDamaged, what)
	}
	return nil
}
