package predictor

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// shelf is what memory holds of one space: all but the texts.
type shelf struct {
	parts       map[percached.ChunkID]*part
	bytes       int64 // of the parts' texts
	predictions map[[16]byte]*guess
	dropped     map[Drop]uint64
}

// part is a part of the abstract.
type part struct {
	chunk   percached.ChunkID
	version uint64
	made    time.Time
	bytes   int
	used    bool // a prediction was made from it
	at      place
}

// guess is a prediction.
type guess struct {
	from   From
	made   time.Time
	chunks []percached.ChunkID
	state  state
	dirty  bool // state is ahead of the disk
}

// place says how new a chunk is: where it stands in the newest document that
// holds it.
type place struct {
	date, added time.Time // of the document
	document    percached.DocumentID
	number      int // among the document's chunks
}

// placeOf is the place of a document's first chunk. A document without a date
// is as old as its arrival.
func placeOf(d *percached.Document) place {
	p := place{date: moment(d.Date), added: moment(d.Added), document: d.ID}
	if p.date.IsZero() {
		p.date = p.added
	}
	return p
}

// newest orders places: newer documents first, and a document's chunks as they
// stand in it.
func newest(a, b place) int {
	return cmp.Or(b.date.Compare(a.date), b.added.Compare(a.added), bytes.Compare(a.document[:], b.document[:]), cmp.Compare(a.number, b.number))
}

// byPlace orders parts, and those of one place by their chunks.
func byPlace(a, b *part) int {
	return cmp.Or(newest(a.at, b.at), bytes.Compare(a.chunk[:], b.chunk[:]))
}

// shelf is a space's shelf, made if need be. The caller holds mu.
func (p *Predictor) shelf(space kv.SpaceID) *shelf {
	s := p.shelves[space]
	if s == nil {
		s = &shelf{parts: map[percached.ChunkID]*part{}, predictions: map[[16]byte]*guess{}, dropped: map[Drop]uint64{}}
		p.shelves[space] = s
	}
	return s
}

func (s *shelf) put(pt *part) {
	s.drop(pt.chunk)
	s.parts[pt.chunk] = pt
	s.bytes += int64(pt.bytes)
}

func (s *shelf) drop(chunk percached.ChunkID) {
	if old := s.parts[chunk]; old != nil {
		s.bytes -= int64(old.bytes)
		delete(s.parts, chunk)
	}
}

// waits says that a prediction can be made from a part, and was not.
func (pt *part) waits() bool { return !pt.used && pt.bytes > 0 }

// waiting are the parts that no prediction was made from, newest first.
func (s *shelf) waiting() []*part {
	var out []*part
	for _, pt := range s.parts {
		if pt.waits() {
			out = append(out, pt)
		}
	}
	slices.SortFunc(out, byPlace)
	return out
}
