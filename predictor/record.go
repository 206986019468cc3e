package predictor

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/sealed"
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
	if !asks(p.Question) {
		r.Fail()
	}
	return p, r.End("a prediction")
}

// state is the part of a prediction that changes.
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
