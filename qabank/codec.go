package qabank

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/sealed"
)

// The first byte of every value is its version. The content of entries is
// written in a later one than all else; what earlier releases wrote is read.
const (
	formatVersion  = 1
	contentVersion = 2 // has sources
)

const (
	flagAnswered = 1 << iota
	flagRefused
	flagStale
	flagCut
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

func writeChunks(w *sealed.Writer, cs []percached.ChunkID) {
	w.Count(len(cs))
	for _, c := range cs {
		w.Raw(c[:])
	}
}

func readChunks(r *sealed.Reader) (cs []percached.ChunkID) {
	for range r.Count(maxEvidence, 16) {
		var c percached.ChunkID
		copy(c[:], r.Take(16))
		cs = append(cs, c)
	}
	return cs
}

func flags(e *Entry) (f byte) {
	if e.Answered {
		f |= flagAnswered
	}
	if e.Refused {
		f |= flagRefused
	}
	if e.Cut {
		f |= flagCut
	}
	return f
}

func encodeContent(e *Entry) []byte {
	w := sealed.NewWriter(contentVersion, nil)
	w.Byte(flags(e))
	for _, s := range []string{e.Question, e.Answer, e.Embedder, e.Origin, e.Settings} {
		w.Text(s)
	}
	w.Time(e.Made)
	w.Time(e.Expires)
	w.Count(len(e.Evidence))
	for _, v := range e.Evidence {
		w.Raw(v.Chunk[:])
		w.U64(v.Version)
	}
	writeChunks(w, e.Sources)
	w.Count(len(e.Vector))
	for _, x := range e.Vector {
		w.Float32(x)
	}
	return w.Seal()
}

func decodeContent(value []byte) (Entry, error) {
	r, err := sealed.NewReader(nil, value, formatVersion, contentVersion)
	if err != nil {
		return Entry{}, err
	}
	f := r.Byte()
	e := Entry{Answered: f&flagAnswered != 0, Refused: f&flagRefused != 0, Cut: f&flagCut != 0}
	e.Question, e.Answer = r.Text(maxQuestion), r.Text(maxAnswer)
	e.Embedder, e.Origin, e.Settings = r.Text(maxName), r.Text(maxName), r.Text(maxName)
	e.Made, e.Expires = r.Time(), r.Time()
	if n := r.Count(maxEvidence, 24); n > 0 {
		e.Evidence = make([]percached.Evidence, n)
		for i := range e.Evidence {
			copy(e.Evidence[i].Chunk[:], r.Take(16))
			e.Evidence[i].Version = r.U64()
		}
	}
	if r.Version() >= contentVersion {
		e.Sources = readChunks(r)
	}
	if n := r.Count(maxVector, 4); n > 0 {
		e.Vector = make([]float32, n)
		p := r.Take(4 * n)
		for i := range e.Vector {
			e.Vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))
		}
	}
	if f &^= flagAnswered | flagRefused | flagCut; f != 0 {
		r.Fail()
	}
	if err := r.End("an entry"); err != nil {
		return Entry{}, err
	}
	e.Space = "-" // the key tells it; the rest must be as Put takes it
	if err := e.check(); err != nil {
		return Entry{}, fmt.Errorf("%w: %w", sealed.ErrDamaged, err)
	}
	e.Space = ""
	return e, nil
}

func encodeState(s state) []byte {
	w := sealed.NewWriter(formatVersion, nil)
	var f byte
	if s.stale {
		f = flagStale
	}
	w.Byte(f)
	w.U64(s.hits)
	w.Time(s.used)
	w.U64(s.seen)
	w.Float(s.rank)
	w.Text(s.staleWhy)
	return w.Seal()
}

func decodeState(value []byte) (state, error) {
	r, err := sealed.NewReader(nil, value, formatVersion, formatVersion)
	if err != nil {
		return state{}, err
	}
	f := r.Byte()
	s := state{stale: f&flagStale != 0, hits: r.U64(), used: r.Time(), seen: r.U64(), rank: math.Float64frombits(r.U64())}
	s.staleWhy = r.Text(maxName)
	if f&^flagStale != 0 || math.IsNaN(s.rank) || math.IsInf(s.rank, 0) || s.rank < 0 {
		r.Fail()
	}
	return s, r.End("an entry's state")
}

func encodeVeto(v veto) []byte {
	w := sealed.NewWriter(formatVersion, nil)
	writeChunks(w, v.chunks)
	return w.Seal()
}

func decodeVeto(value []byte) (chunks []percached.ChunkID, err error) {
	r, err := sealed.NewReader(nil, value, formatVersion, formatVersion)
	if err != nil {
		return nil, err
	}
	chunks = readChunks(r)
	return chunks, r.End("a veto")
}
