package qabank

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
)

// The first byte of every value is its version. The content of entries is
// written in a later one than all else; what earlier releases wrote is read.
const (
	formatVersion  = 1
	contentVersion = 2 // has sources
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errDamaged = errors.New("a record of the bank is damaged")
)

const (
	flagAnswered = 1 << iota
	flagRefused
	flagStale
)

// state is the part of an entry that changes often.
type state struct {
	hits     uint64
	used     time.Time
	seen     uint64
	rank     float64
	stale    bool
	staleWhy string
}

// veto is a pair of questions that never match, and the chunks whose going
// ends the veto too.
type veto struct {
	a, b   ID // a is the smaller
	chunks []percached.ChunkID
}

type writer struct{ b []byte }

func newWriter(version byte) *writer { return &writer{[]byte{version}} }

func (w *writer) byte(x byte)     { w.b = append(w.b, x) }
func (w *writer) u64(x uint64)    { w.b = binary.LittleEndian.AppendUint64(w.b, x) }
func (w *writer) count(n int)     { w.b = binary.AppendUvarint(w.b, uint64(n)) }
func (w *writer) raw(p []byte)    { w.b = append(w.b, p...) }
func (w *writer) text(s string)   { w.count(len(s)); w.b = append(w.b, s...) }
func (w *writer) float(x float32) { w.b = binary.LittleEndian.AppendUint32(w.b, math.Float32bits(x)) }

func (w *writer) chunks(cs []percached.ChunkID) {
	w.count(len(cs))
	for _, c := range cs {
		w.raw(c[:])
	}
}

func (w *writer) time(t time.Time) {
	if t.IsZero() {
		w.u64(0)
		return
	}
	w.u64(uint64(t.UnixNano()))
}

func (w *writer) seal() []byte {
	return binary.LittleEndian.AppendUint32(w.b, crc32.Checksum(w.b, castagnoli))
}

// reader takes a record apart; its first failure sticks.
type reader struct {
	version byte
	b       []byte
	bad     bool
}

// newReader checks the checksum, and that the version is none behind latest.
func newReader(value []byte, latest byte) (*reader, error) {
	n := len(value) - 4
	if n < 1 || crc32.Checksum(value[:n], castagnoli) != binary.LittleEndian.Uint32(value[n:]) {
		return nil, errDamaged
	}
	if value[0] > latest {
		return nil, fault.New(fault.Unsupported, "qabank: decode", "a record of version %d, later than %d", value[0], latest)
	}
	if value[0] < formatVersion {
		return nil, errDamaged
	}
	return &reader{version: value[0], b: value[1:n]}, nil
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

func (r *reader) chunks() (cs []percached.ChunkID) {
	for range r.count(maxEvidence, 16) {
		var c percached.ChunkID
		copy(c[:], r.take(16))
		cs = append(cs, c)
	}
	return cs
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

func flags(e *Entry) (f byte) {
	if e.Answered {
		f |= flagAnswered
	}
	if e.Refused {
		f |= flagRefused
	}
	return f
}

func encodeContent(e *Entry) []byte {
	w := newWriter(contentVersion)
	w.byte(flags(e))
	for _, s := range []string{e.Question, e.Answer, e.Embedder, e.Origin, e.Settings} {
		w.text(s)
	}
	w.time(e.Made)
	w.time(e.Expires)
	w.count(len(e.Evidence))
	for _, v := range e.Evidence {
		w.raw(v.Chunk[:])
		w.u64(v.Version)
	}
	w.chunks(e.Sources)
	w.count(len(e.Vector))
	for _, x := range e.Vector {
		w.float(x)
	}
	return w.seal()
}

func decodeContent(value []byte) (Entry, error) {
	r, err := newReader(value, contentVersion)
	if err != nil {
		return Entry{}, err
	}
	f := r.byte()
	e := Entry{Answered: f&flagAnswered != 0, Refused: f&flagRefused != 0}
	e.Question, e.Answer = r.text(maxQuestion), r.text(maxAnswer)
	e.Embedder, e.Origin, e.Settings = r.text(maxName), r.text(maxName), r.text(maxName)
	e.Made, e.Expires = r.time(), r.time()
	if n := r.count(maxEvidence, 24); n > 0 {
		e.Evidence = make([]percached.Evidence, n)
		for i := range e.Evidence {
			copy(e.Evidence[i].Chunk[:], r.take(16))
			e.Evidence[i].Version = r.u64()
		}
	}
	if r.version >= contentVersion {
		e.Sources = r.chunks()
	}
	if n := r.count(maxVector, 4); n > 0 {
		e.Vector = make([]float32, n)
		p := r.take(4 * n)
		for i := range e.Vector {
			e.Vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))
		}
	}
	if f &^= flagAnswered | flagRefused; f != 0 {
		r.bad = true
	}
	if err := r.end("an entry"); err != nil {
		return Entry{}, err
	}
	e.Space = "-" // the key tells it; the rest must be as Put takes it
	if err := e.check(); err != nil {
		return Entry{}, fmt.Errorf("%w: %w", errDamaged, err)
	}
	e.Space = ""
	return e, nil
}

func encodeState(s state) []byte {
	w := newWriter(formatVersion)
	var f byte
	if s.stale {
		f = flagStale
	}
	w.byte(f)
	w.u64(s.hits)
	w.time(s.used)
	w.u64(s.seen)
	w.u64(math.Float64bits(s.rank))
	w.text(s.staleWhy)
	return w.seal()
}

func decodeState(value []byte) (state, error) {
	r, err := newReader(value, formatVersion)
	if err != nil {
		return state{}, err
	}
	f := r.byte()
	s := state{stale: f&flagStale != 0, hits: r.u64(), used: r.time(), seen: r.u64(), rank: math.Float64frombits(r.u64())}
	s.staleWhy = r.text(maxName)
	if f&^flagStale != 0 || math.IsNaN(s.rank) || math.IsInf(s.rank, 0) || s.rank < 0 {
		r.bad = true
	}
	return s, r.end("an entry's state")
}

func encodeVeto(v veto) []byte {
	w := newWriter(formatVersion)
	w.chunks(v.chunks)
	return w.seal()
}

func decodeVeto(value []byte) (chunks []percached.ChunkID, err error) {
	r, err := newReader(value, formatVersion)
	if err != nil {
		return nil, err
	}
	chunks = r.chunks()
	return chunks, r.end("a veto")
}
