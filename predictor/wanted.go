package predictor

import (
	"context"
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// page is how many documents are read in one go.
const page = 256

// Unsummarised names up to n chunks that the abstract wants and has no part of
// at their version, those of the newest documents first (by date; without one,
// by when it came), and tells when the latest document of all came in, whether it
// holds one of them or not. Of a large space the abstract wants the newest chunks
// only: as many as are sure to fit. It ends soon when ctx does.
func (p *Predictor) Unsummarised(ctx context.Context, space string, n int) ([]percached.ChunkID, time.Time, error) {
	const op = "predictor.Unsummarised"
	id := kv.NewSpaceID(space)
	before := p.parts(id)
	documents, err := p.documents(ctx, space)
	if err != nil {
		return nil, time.Time{}, fault.Wrap(op, err)
	}
	places, order := spread(documents)
	p.refresh(before, places)
	missing, err := p.missing(ctx, space, order, before)
	if err != nil {
		return nil, time.Time{}, fault.Wrap(op, err)
	}
	var last time.Time
	for _, at := range places {
		if at.added.After(last) {
			last = at.added
		}
	}
	return missing[:min(max(n, 0), len(missing))], last, nil
}

// missing walks over the chunks that are wanted, newest first, and picks those
// without a part at their version.
func (p *Predictor) missing(ctx context.Context, space string, order []percached.ChunkID, parts map[percached.ChunkID]*part) ([]percached.ChunkID, error) {
	room := p.o.AbstractLimit
	var missing []percached.ChunkID
	for some := range slices.Chunk(order, look) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		have := slices.DeleteFunc(slices.Clone(some), func(c percached.ChunkID) bool { return parts[c] == nil })
		versions, err := p.versions(space, have)
		if err != nil {
			return nil, err
		}
		for _, c := range some {
			size, there := int64(maxSummary), false
			if pt := parts[c]; pt != nil {
				v, read := versions[c]
				if there = !read || v == pt.version; there {
					size = int64(pt.bytes)
				}
			}
			if room -= size; room < 0 {
				return missing, nil
			}
			if !there {
				missing = append(missing, c)
			}
		}
	}
	return missing, nil
}

// parts is a copy of the index of a space's parts.
func (p *Predictor) parts(space kv.SpaceID) map[percached.ChunkID]*part {
	p.mu.RLock()
	defer p.mu.RUnlock()
	parts := map[percached.ChunkID]*part{}
	if s := p.shelves[space]; s != nil {
		for id, pt := range s.parts {
			parts[id] = pt
		}
	}
	return parts
}

// spread gives the chunks of documents in the order of their newest places.
func spread(documents []percached.Document) (map[percached.ChunkID]place, []percached.ChunkID) {
	slices.SortFunc(documents, func(a, b percached.Document) int { return newest(placeOf(&a), placeOf(&b)) })
	places, order := map[percached.ChunkID]place{}, []percached.ChunkID(nil)
	for i := range documents {
		at := placeOf(&documents[i])
		for n, c := range documents[i].Chunks {
			if _, seen := places[c]; !seen {
				at.number = n
				places[c] = at
				order = append(order, c)
			}
		}
	}
	return places, order
}

// refresh notes where the chunks of parts stand now: documents that share them
// come and go. What stands nowhere is the oldest.
func (p *Predictor) refresh(parts map[percached.ChunkID]*part, places map[percached.ChunkID]place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, pt := range parts {
		pt.at = places[id]
	}
}

// documents reads a space page by page; of the documents only what places them
// is kept.
func (p *Predictor) documents(ctx context.Context, space string) ([]percached.Document, error) {
	var all []percached.Document
	var after percached.DocumentID
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		some, err := p.o.Knowledge.Documents(space, after, page)
		if err != nil {
			if fault.KindOf(err) != fault.Internal {
				return nil, err
			}
			p.damaged(err)
		}
		for i := range some {
			d := &some[i]
			all = append(all, percached.Document{ID: d.ID, Date: d.Date, Added: d.Added, Chunks: d.Chunks})
		}
		if len(some) < page {
			return all, nil
		}
		after = some[len(some)-1].ID
	}
}
