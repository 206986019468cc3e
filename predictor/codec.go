package predictor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
)

// formatVersion is the first byte of every value.
const formatVersion = 1

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errDamaged = errors.New("a record of the predictor is damaged")
)

type writer struct{ b []byte }

func newWriter() *writer { return &writer{[]byte{formatVersion}} }

func (w *writer) byte(x byte)   { w.b = append(w.b, x) }
func (w *writer) u64(x uint64)  { w.b = binary.LittleEndian.AppendUint64(w.b, x) }
func (w *writer) count(n int)   { w.b = binary.AppendUvarint(w.b, uint64(n)) }
func (w *writer) raw(p []byte)  { w.b = append(w.b, p...) }
func (w *writer) text(s string) { w.count(len(s)); w.b = append(w.b, s...) }

func (w *writer) time(t time.Time) {
	if t.IsZero() {
		w.u64(0)
		return
	}
	w.u64(uint64(t.UnixNano()))
}

// seal ends a record that will lie under this key.
func (w *writer) seal(key []byte) []byte {
	return binary.LittleEndian.AppendUint32(w.b, sum(key, w.b))
}

func sum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}

// reader takes a record apart; its first failure sticks.
type reader struct {
	b   []byte
	bad bool
}

// newReader checks version and checksum.
func newReader(key, value []byte) (*reader, error) {
	n := len(value) - 4
	if n < 1 || sum(key, value[:n]) != binary.LittleEndian.Uint32(value[n:]) {
		return nil, errDamaged
	}
	if value[0] > formatVersion {
		return nil, fault.New(fault.Unsupported, "predictor: decode", "a record of version %d, later than %d", value[0], formatVersion)
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

// flag reads a byte of which one bit may be set.
func (r *reader) flag() bool {
	b := r.byte()
	r.bad = r.bad || b > 1
	return b == 1
}

func (r *reader) u64() uint64 {
	if p := r.take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
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

func (r *reader) text(limit int) string {
	s := string(r.take(r.count(limit, 1)))
	r.bad = r.bad || !utf8.ValidString(s)
	return s
}

func (r *reader) time() time.Time {
	if n := int64(r.u64()); n != 0 {
		return time.Unix(0, n).UTC()
	}
	return time.Time{}
}

func (r *reader) end(what string) error {
	if r.bad || len(r.b) != 0 {
		return fmt.Errorf("%w: %s", errDamaged, what)
	}
	return nil
}

// moment is a time as records can hold it, the zero time if they cannot.
func moment(t time.Time) time.Time {
	if y := t.Year(); y < 1700 || y > 2200 {
		return time.Time{}
	}
	return t.Round(0).UTC()
}

func (w *writer) ids(n int, at func(i int) []byte) {
	w.count(n)
	for i := range n {
		w.raw(at(i))
	}
}

func (r *reader) ids(limit int, each func(id [16]byte)) {
	for range r.count(limit, 16) {
		each([16]byte(r.take(16)))
	}
}

func (w *writer) chunks(ids []percached.ChunkID) {
	w.ids(len(ids), func(i int) []byte { return ids[i][:] })
}
