package predictor

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached"
)

const (
	// maxSummary bounds the text of a part, in bytes.
	maxSummary = 400
	// maxQuestion bounds a prediction, in bytes.
	maxQuestion = 300
	maxChunks   = 1 << 16 // that a prediction rests on
	maxPlace    = 1 << 31
	maxReasons  = 1 << 8
	maxReason   = 1 << 6
)

func encodePart(key []byte, p *part, text string) []byte {
	w := newWriter()
	w.byte(bit(p.used))
	w.u64(p.version)
	w.time(p.made)
	w.time(p.at.date)
	w.time(p.at.added)
	w.raw(p.at.document[:])
	w.count(p.at.number)
	w.text(text)
	return w.seal(key)
}

func decodePart(key, value []byte) (*part, string, error) {
	r, err := newReader(key, value)
	if err != nil {
		return nil, "", err
	}
	p := &part{used: r.flag(), version: r.u64(), made: r.time()}
	p.at.date, p.at.added = r.time(), r.time()
	copy(p.at.document[:], r.take(16))
	p.at.number = r.count(maxPlace, 0)
	text := r.text(maxSummary)
	p.bytes = len(text)
	r.bad = r.bad || strings.ContainsAny(text, "\r\n")
	return p, text, r.end("a part of an abstract")
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
	w := newWriter()
	w.byte(byte(slices.Index(origins, p.From)))
	w.time(p.Made)
	w.text(p.Question)
	w.chunks(p.Chunks)
	w.ids(len(p.Asked), func(i int) []byte { return p.Asked[i][:] })
	return w.seal(key)
}

func decodePrediction(key, value []byte) (Prediction, error) {
	r, err := newReader(key, value)
	if err != nil {
		return Prediction{}, err
	}
	var p Prediction
	if from := int(r.byte()); from > 0 && from < len(origins) {
		p.From = origins[from]
	} else {
		r.bad = true
	}
	p.Made = r.time()
	p.Question = r.text(maxQuestion)
	r.ids(maxChunks, func(id [16]byte) { p.Chunks = append(p.Chunks, percached.ChunkID(id)) })
	r.ids(maxBuffer, func(id [16]byte) { p.Asked = append(p.Asked, id) })
	if !asks(p.Question) {
		r.bad = true
	}
	return p, r.end("a prediction")
}

// state is the part of a prediction that changes.
type state struct {
	populated bool
	hits      uint64
	last      time.Time
}

func encodeState(key []byte, s state) []byte {
	w := newWriter()
	w.byte(bit(s.populated))
	w.u64(s.hits)
	w.time(s.last)
	return w.seal(key)
}

func decodeState(key, value []byte) (state, error) {
	r, err := newReader(key, value)
	if err != nil {
		return state{}, err
	}
	s := state{populated: r.flag(), hits: r.u64(), last: r.time()}
	return s, r.end("a prediction's state")
}

func encodeCounts(key []byte, counts map[Drop]uint64) []byte {
	w := newWriter()
	w.count(len(counts))
	for _, d := range slices.Sorted(maps.Keys(counts)) {
		w.text(string(d))
		w.u64(counts[d])
	}
	return w.seal(key)
}

func decodeCounts(key, value []byte) (map[Drop]uint64, error) {
	r, err := newReader(key, value)
	if err != nil {
		return nil, err
	}
	counts := map[Drop]uint64{}
	for range r.count(maxReasons, 9) {
		d := Drop(r.text(maxReason))
		counts[d] = r.u64()
	}
	return counts, r.end("counts of what was dropped")
}
