package predictor

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// The record types, the second byte of every key. See FORMAT.md.
const (
	ownByte        = 'P'
	partByte       = 'a'
	predictionByte = 'q'
	stateByte      = 'h'
	countsByte     = 'd'
)

const idAt = 2 + len(kv.SpaceID{})

func key(kind byte, space kv.SpaceID, id ...byte) []byte {
	k := make([]byte, 0, idAt+len(id))
	k = append(append(k, ownByte, kind), space[:]...)
	return append(k, id...)
}

func partKey(space kv.SpaceID, id percached.ChunkID) []byte { return key(partByte, space, id[:]...) }

// splitKey splits a key that ends in an ID of this size.
func splitKey(k []byte, size int) (space kv.SpaceID, id []byte, ok bool) {
	if len(k) != idAt+size {
		return space, nil, false
	}
	return kv.SpaceID(k[2:idAt]), k[idAt:], true
}

// formatVersion is the first byte of every value.
const formatVersion = 1

// truncateTime returns the time as records can store it, or the zero time if they cannot.
func truncateTime(t time.Time) time.Time {
	if y := t.Year(); y < 1700 || y > 2200 {
		return time.Time{}
	}
	return t.Round(0).UTC()
}

func utf8Text(r *sealed.Reader, limit int) string {
	s := r.Text(limit)
	if !utf8.ValidString(s) {
		r.Fail()
	}
	return s
}

func writeIDs(w *sealed.Writer, n int, at func(i int) []byte) {
	w.Count(n)
	for i := range n {
		w.Raw(at(i))
	}
}

func readIDs(r *sealed.Reader, limit int, each func(id [16]byte)) {
	for range r.Count(limit, 16) {
		each([16]byte(r.Take(16)))
	}
}

const (
	// maxSummary is the maximum size of a part's text in bytes.
	maxSummary = 400
	// maxQuestion is the maximum size of a prediction in bytes.
	maxQuestion = 300
	maxChunks   = 1 << 16 // of one prediction
	maxPlace    = 1 << 31
	maxReasons  = 1 << 8
	maxReason   = 1 << 6
)

func encodePart(key []byte, p *part, text string) []byte {
	w := sealed.NewWriter(formatVersion, key)
	w.Byte(bit(p.used))
	w.U64(p.version)
	w.Time(p.made)
	w.Time(p.at.date)
	w.Time(p.at.added)
	w.Raw(p.at.document[:])
	w.Count(p.at.number)
	w.Text(text)
	return w.Seal()
}

func decodePart(key, value []byte) (*part, string, error) {
	r, err := sealed.NewReader(key, value, formatVersion, formatVersion)
	if err != nil {
		return nil, "", err
	}
	p := &part{used: r.Flag(), version: r.U64(), made: r.Time()}
	p.at.date, p.at.added = r.Time(), r.Time()
	copy(p.at.document[:], r.Take(16))
	p.at.number = r.Count(maxPlace, 0)
	text := utf8Text(r, maxSummary)
	p.bytes = len(text)
	if strings.ContainsAny(text, "\r\n") {
		r.Fail()
	}
	return p, text, r.End("a part of an abstract")
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// The numbers of From on disk.
var origins = []From{"", Knowledge, History}

func encodePrediction(key []byte, p *Prediction) []byte {
	w := sealed.NewWriter(formatVersion, key)
	w.Byte(byte(slices.Index(origins, p.From)))
	w.Time(p.Made)
	w.Text(p.Question)
	writeIDs(w, len(p.Chunks), func(i int) []byte { return p.Chunks[i][:] })
	writeIDs(w, len(p.Asked), func(i int) []byte { return p.Asked[i][:] })
	return w.Seal()
}

func decodePrediction(key, value []byte) (Prediction, error) {
	r, err := sealed.NewReader(key, value, formatVersion, formatVersion)
	if err != nil {
		return Prediction{}, err
	}
	var p Prediction
	if from := int(r.Byte()); from > 0 && from < len(origins) {
		p.From = origins[from]
	} else {
		r.Fail()
	}
	p.Made = r.Time()
	p.Question = utf8Text(r, maxQuestion)
	readIDs(r, maxChunks, func(id [16]byte) { p.Chunks = append(p.Chunks, percached.ChunkID(id)) })
	readIDs(r, maxBuffer, func(id [16]byte) { p.Asked = append(p.Asked, id) })
	if !isQuestion(p.Question) {
		r.Fail()
	}
	return p, r.End("a prediction")
}

// state is the mutable part of a prediction.
type state struct {
	populated bool
	hits      uint64
	last      time.Time
}

func encodeState(key []byte, s state) []byte {
	w := sealed.NewWriter(formatVersion, key)
	w.Byte(bit(s.populated))
	w.U64(s.hits)
	w.Time(s.last)
	return w.Seal()
}

func decodeState(key, value []byte) (state, error) {
	r, err := sealed.NewReader(key, value, formatVersion, formatVersion)
	if err != nil {
		return state{}, err
	}
	s := state{populated: r.Flag(), hits: r.U64(), last: r.Time()}
	return s, r.End("a prediction's state")
}

func encodeCounts(key []byte, counts map[Drop]uint64) []byte {
	w := sealed.NewWriter(formatVersion, key)
	w.Count(len(counts))
	for _, d := range slices.Sorted(maps.Keys(counts)) {
		w.Text(string(d))
		w.U64(counts[d])
	}
	return w.Seal()
}

func decodeCounts(key, value []byte) (map[Drop]uint64, error) {
	r, err := sealed.NewReader(key, value, formatVersion, formatVersion)
	if err != nil {
		return nil, err
	}
	counts := map[Drop]uint64{}
	for range r.Count(maxReasons, 9) {
		d := Drop(utf8Text(r, maxReason))
		counts[d] = r.U64()
	}
	return counts, r.End("counts of what was dropped")
}

// loader fills a predictor before it is shared.
type loader struct {
	to     *Predictor
	only   []byte           // the space; nil: all
	states map[string]state // by key after its type, until a prediction takes them
	gone   [][]byte         // keys to delete
}

func (l *loader) load(tx *kv.Tx) error {
	for _, step := range []struct {
		kind byte
		read func(k, v []byte) error
	}{{partByte, l.part}, {stateByte, l.state}, {predictionByte, l.prediction}, {countsByte, l.counts}} {
		err := tx.Scan(append([]byte{ownByte, step.kind}, l.only...), func(k, v []byte, damage error) error {
			err := damage
			if err == nil {
				err = step.read(k, v)
			}
			if err == nil || !unreadable(err) {
				return err
			}
			l.gone = append(l.gone, slices.Clone(k))
			l.to.damaged(err)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for rest := range l.states { // states without a prediction
		l.gone = append(l.gone, append([]byte{ownByte, stateByte}, rest...))
	}
	return nil
}

// unreadable reports whether an error means a damaged record.
func unreadable(err error) bool {
	return errors.Is(err, sealed.ErrDamaged) || errors.Is(err, kv.ErrDamaged)
}

func (l *loader) part(k, v []byte) error {
	space, id, ok := splitKey(k, 16)
	pt, _, err := decodePart(k, v)
	if err == nil && !ok {
		err = sealed.ErrDamaged
	}
	if err != nil {
		return err
	}
	pt.chunk = percached.ChunkID(id)
	l.to.stateOf(space).addPart(pt)
	return nil
}

func (l *loader) state(k, v []byte) error {
	s, err := decodeState(k, v)
	if err == nil {
		l.states[string(k[2:])] = s
	}
	return err
}

func (l *loader) prediction(k, v []byte) error {
	space, id, ok := splitKey(k, 16)
	p, err := decodePrediction(k, v)
	if err == nil && (!ok || [16]byte(id) != newID(space, p.Question)) {
		err = sealed.ErrDamaged
	}
	if err != nil {
		return err
	}
	l.to.stateOf(space).predictions[[16]byte(id)] = &storedPrediction{from: p.From, made: p.Made, chunks: p.Chunks, state: l.states[string(k[2:])]}
	delete(l.states, string(k[2:]))
	return nil
}

func (l *loader) counts(k, v []byte) error {
	space, _, ok := splitKey(k, 0)
	c, err := decodeCounts(k, v)
	if err == nil && !ok {
		err = sealed.ErrDamaged
	}
	if err == nil {
		l.to.stateOf(space).dropped = c
	}
	return err
}
