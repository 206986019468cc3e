package qabank

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// The record types, the second byte of every key. See FORMAT.md.
const (
	bankByte    = 'Q'
	spaceByte   = 's'
	contentByte = 'e'
	stateByte   = 'c'
	vetoByte    = 'v'
	checkByte   = 'k'
	countsByte  = 'g'
)

const idAt = 2 + len(kv.SpaceID{})

func key(kind byte, space kv.SpaceID, ids ...ID) []byte {
	k := append([]byte{bankByte, kind}, space[:]...)
	for _, id := range ids {
		k = append(k, id[:]...)
	}
	return k
}

// splitKey splits a key that contains n IDs.
func splitKey(k []byte, n int) (space kv.SpaceID, ids []ID, ok bool) {
	if len(k) != idAt+n*len(ID{}) {
		return space, nil, false
	}
	space = kv.SpaceID(k[2:])
	for i := range n {
		ids = append(ids, ID(k[idAt+i*len(ID{}):]))
	}
	return space, ids, true
}

// recordBytes is the size of an entry's two records.
func recordBytes(content, state []byte) int64 {
	return int64(2*(idAt+len(ID{})) + len(content) + len(state))
}

// The first byte of every value is its version. The content of entries has a newer
// version than the other records; older versions are read too.
const (
	formatVersion  = 1
	sourcesVersion = 2 // of the content, since it has sources
	contentVersion = 3 // has flagChanged and Under
)

const (
	flagAnswered = 1 << iota
	flagRefused
	flagStale
	flagCut
	flagChanged
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

// veto is a pair of questions that never match, and the chunks whose deletion also
// deletes the veto.
type veto struct {
	a, b   ID // a is the smaller one
	chunks []percached.ChunkID
}

func writeChunks(w *sealed.Writer, cs []percached.ChunkID) {
	w.Count(len(cs))
	for _, c := range cs {
		w.Raw(c[:])
	}
}

func readChunks(r *sealed.Reader) (cs []percached.ChunkID) {
	for range r.Count(MaxEvidence, 16) {
		var c percached.ChunkID
		copy(c[:], r.Take(16))
		cs = append(cs, c)
	}
	return cs
}

func writeVector(w *sealed.Writer, v []float32) {
	w.Count(len(v))
	for _, x := range v {
		w.Float32(x)
	}
}

func readVector(r *sealed.Reader) (v []float32) {
	if n := r.Count(maxVector, 4); n > 0 {
		v = make([]float32, n)
		p := r.Take(4 * n)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))
		}
	}
	return v
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
	if e.Changed {
		f |= flagChanged
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
	w.Text(e.Under)
	writeVector(w, e.Vector)
	return w.Seal()
}

func decodeContent(value []byte) (Entry, error) {
	r, err := sealed.NewReader(nil, value, formatVersion, contentVersion)
	if err != nil {
		return Entry{}, err
	}
	f := r.Byte()
	e := Entry{Answered: f&flagAnswered != 0, Refused: f&flagRefused != 0, Cut: f&flagCut != 0, Changed: f&flagChanged != 0}
	e.Question, e.Answer = r.Text(maxQuestion), r.Text(maxAnswer)
	e.Embedder, e.Origin, e.Settings = r.Text(maxName), r.Text(maxName), r.Text(maxName)
	e.Made, e.Expires = r.Time(), r.Time()
	if n := r.Count(MaxEvidence, 24); n > 0 {
		e.Evidence = make([]percached.Evidence, n)
		for i := range e.Evidence {
			copy(e.Evidence[i].Chunk[:], r.Take(16))
			e.Evidence[i].Version = r.U64()
		}
	}
	if r.Version() >= sourcesVersion {
		e.Sources = readChunks(r)
	}
	if r.Version() >= contentVersion {
		e.Under = r.Text(maxName)
	}
	e.Vector = readVector(r)
	if f &^= flagAnswered | flagRefused | flagCut | flagChanged; f != 0 {
		r.Fail()
	}
	if err := r.End("an entry"); err != nil {
		return Entry{}, err
	}
	e.Space = "-" // the key contains it; the rest must satisfy Put
	if err := e.validate(); err != nil {
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

// loader fills a bank before it is shared.
type loader struct {
	bank    *Bank
	only    []byte // the space; nil: all
	indexes map[kv.SpaceID]*spaceIndex
	states  map[string]state // by key, until an entry takes them
	damaged [][]byte         // keys
}

func (l *loader) load(tx *kv.Tx) error {
	for _, step := range []struct {
		kind byte
		read func(k, v []byte) error
	}{{spaceByte, l.space}, {stateByte, l.state}, {contentByte, l.entry}, {vetoByte, l.veto}, {checkByte, l.check}, {countsByte, l.counts}} {
		// An unreadable record comes without a value and counts as damaged.
		err := tx.Scan(append([]byte{bankByte, step.kind}, l.only...), func(k, v []byte, _ error) error {
			err := step.read(k, v)
			if !errors.Is(err, sealed.ErrDamaged) {
				return err
			}
			l.damaged = append(l.damaged, slices.Clone(k))
			if l.bank.o.Observer.Damaged != nil {
				l.bank.o.Observer.Damaged(err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for rest := range l.states { // states without an entry
		l.damaged = append(l.damaged, append([]byte{bankByte, stateByte}, rest...))
	}
	return nil
}

func (l *loader) space(k, v []byte) error {
	r, err := sealed.NewReader(nil, v, formatVersion, formatVersion)
	if err != nil {
		return err
	}
	name := r.Text(maxName)
	hash, _, ok := splitKey(k, 0)
	if err := r.End("a space"); err != nil {
		return err
	}
	if !ok || hash != kv.NewSpaceID(name) {
		return sealed.ErrDamaged
	}
	s := newSpaceIndex(name)
	l.bank.spaces[name], l.indexes[hash] = s, s
	return nil
}

func (l *loader) state(k, v []byte) error {
	s, err := decodeState(v)
	if err == nil {
		l.states[string(k[2:])] = s
	}
	return err
}

// entry accepts an entry only with its state, because otherwise it could be stale.
func (l *loader) entry(k, v []byte) error {
	e, err := decodeContent(v)
	if err != nil {
		return err
	}
	hash, ids, ok := splitKey(k, 1)
	s := l.indexes[hash]
	st, known := l.states[string(k[2:])]
	if !ok || s == nil || !known || ids[0] != NewIDUnder(s.name, e.Question, e.Under) || !s.matchesDimension(e.Embedder, e.Vector) {
		return sealed.ErrDamaged
	}
	delete(l.states, string(k[2:]))
	it := newItem(ids[0], s, &e)
	it.state, it.size = st, recordBytes(v, encodeState(st))
	it.changed = e.Changed && st.used.Before(e.Made)
	s.items[it.id] = it
	s.addVector(it, e.Vector)
	l.bank.bytes += it.size
	return nil
}

// veto keeps a pair apart even if its value is damaged.
func (l *loader) veto(k, v []byte) error {
	chunks, err := decodeVeto(v)
	if err != nil && !errors.Is(err, sealed.ErrDamaged) {
		return err
	}
	hash, ids, ok := splitKey(k, 2)
	s := l.indexes[hash]
	if !ok || s == nil {
		return sealed.ErrDamaged
	}
	s.addVeto(veto{ids[0], ids[1], chunks})
	return nil
}

func (l *loader) check(k, v []byte) error {
	c, err := decodeCheck(v)
	if err != nil {
		return err
	}
	hash, ids, ok := splitKey(k, 2)
	s := l.indexes[hash]
	if !ok || s == nil {
		return sealed.ErrDamaged
	}
	c.Asked, c.Entry = ids[0], ids[1]
	s.addCheck(&c)
	return nil
}

func (l *loader) counts(k, v []byte) error {
	c, err := decodeCounts(v)
	if err != nil {
		return err
	}
	hash, _, ok := splitKey(k, 0)
	s := l.indexes[hash]
	if !ok || s == nil {
		return sealed.ErrDamaged
	}
	s.counts = c
	return nil
}

// lowestRank is the rank from which ageing continues: the last evicted entry ranked no
// higher.
func (l *loader) lowestRank() float64 {
	low, first := 0.0, true
	for _, s := range l.bank.spaces {
		for _, it := range s.items {
			if first || it.state.rank < low {
				low, first = it.state.rank, false
			}
		}
	}
	return low
}
