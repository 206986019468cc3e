package predictor

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Summarise asks the model to summarise a chunk and stores the result as a part of the
// space's abstract. It does nothing if the abstract already covers this version of the
// chunk. NotFound means that the chunk is gone.
func (p *Predictor) Summarise(ctx context.Context, space string, chunk percached.ChunkID) (Usage, error) {
	const op = "predictor.Summarise"
	w := &task{space: kv.NewSpaceID(space), chunks: []percached.ChunkID{chunk}}
	defer p.beginTask(w)()
	chunks, err := p.o.Knowledge.Chunks(space, w.chunks)
	if err != nil {
		return Usage{}, fault.Wrap(op, err)
	}
	if len(chunks) != 1 {
		return Usage{}, fault.New(fault.NotFound, op, "chunk %s does not exist", chunk)
	}
	c := &chunks[0]
	if p.hasPart(w.space, c) {
		return Usage{}, nil
	}
	words, err := p.loadPrompt(space, "abstract", abstractPrompt)
	if err != nil {
		return Usage{}, fault.Wrap(op, err)
	}
	at, title, err := p.locate(space, c)
	if err != nil {
		return Usage{}, fault.Wrap(op, err)
	}
	text := strings.ToValidUTF8(describeChunk(title, c), "")
	pt := &part{chunk: chunk, version: c.Version, made: truncateTime(p.o.Now()), at: at}
	if !p.follows(words) {
		begun := time.Now()
		err := p.storePart(space, w, pt, summary(text))
		return Usage{Took: time.Since(begun)}, fault.Wrap(op, err)
	}
	const least = 256 // bytes
	res, _, err := p.generate(ctx, p.o.SummaryTokens, len(text), least, func(n int) string {
		return words.fill(strings.TrimRight(shorten(text, n), "."), "", 0)
	})
	if err != nil {
		return usage(&res), fault.Wrap(op, err)
	}
	return usage(&res), fault.Wrap(op, p.storePart(space, w, pt, summary(res.Text)))
}

// hasPart reports whether the abstract covers this version of a chunk.
func (p *Predictor) hasPart(space kv.SpaceID, c *percached.Chunk) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	s := p.states[space]
	return s != nil && s.parts[c.ID] != nil && s.parts[c.ID].version == c.Version
}

// locate returns the recency of a chunk and the title of the document that determines it.
func (p *Predictor) locate(space string, c *percached.Chunk) (at recency, title string, err error) {
	found := false
	for _, id := range c.Documents {
		// Documents returns those after an ID.
		some, err := p.o.Knowledge.Documents(space, documentBefore(id), 1)
		if err != nil && fault.KindOf(err) != fault.Internal {
			return at, "", err
		}
		if len(some) != 1 || some[0].ID != id {
			continue
		}
		here := recencyOf(&some[0])
		here.number = max(slices.Index(some[0].Chunks, c.ID), 0)
		if !found || byRecency(here, at) < 0 {
			at, title, found = here, some[0].Title, true
		}
	}
	return at, title, nil
}

// documentBefore returns the preceding ID.
func documentBefore(id percached.DocumentID) percached.DocumentID {
	for i := len(id) - 1; i >= 0; i-- {
		id[i]--
		if id[i] != 0xff {
			return id
		}
	}
	return percached.DocumentID{} // nothing precedes the first ID
}

// page is how many documents one read returns.
const page = 256

// Unsummarised lists up to n chunks whose current version the abstract lacks, from the
// newest documents first (by date, or by arrival without one). It also returns when the
// space's latest document arrived. In a large space the abstract covers only the newest
// chunks: as many as are certain to fit. Unsummarised returns soon when ctx ends.
func (p *Predictor) Unsummarised(ctx context.Context, space string, n int) ([]percached.ChunkID, time.Time, error) {
	const op = "predictor.Unsummarised"
	id := kv.NewSpaceID(space)
	before := p.parts(id)
	documents, err := p.documents(ctx, space)
	if err != nil {
		return nil, time.Time{}, fault.Wrap(op, err)
	}
	places, order := chunkRecency(documents)
	p.updateRecency(before, places)
	missing, err := p.chunksWithoutPart(ctx, space, order, before)
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

// chunksWithoutPart goes through the chunks to cover, newest first, and lists those
// without a part at their version.
func (p *Predictor) chunksWithoutPart(ctx context.Context, space string, order []percached.ChunkID, parts map[percached.ChunkID]*part) ([]percached.ChunkID, error) {
	room := p.o.AbstractLimit
	var missing []percached.ChunkID
	for some := range slices.Chunk(order, chunkBatch) {
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

// parts copies the index of a space's parts.
func (p *Predictor) parts(space kv.SpaceID) map[percached.ChunkID]*part {
	p.mu.RLock()
	defer p.mu.RUnlock()
	parts := map[percached.ChunkID]*part{}
	if s := p.states[space]; s != nil {
		for id, pt := range s.parts {
			parts[id] = pt
		}
	}
	return parts
}

// chunkRecency returns the recency of each chunk, and the chunks in that order.
func chunkRecency(documents []percached.Document) (map[percached.ChunkID]recency, []percached.ChunkID) {
	slices.SortFunc(documents, func(a, b percached.Document) int { return byRecency(recencyOf(&a), recencyOf(&b)) })
	places, order := map[percached.ChunkID]recency{}, []percached.ChunkID(nil)
	for i := range documents {
		at := recencyOf(&documents[i])
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

// updateRecency sets the recency of parts again after documents that share their chunks
// came or went. A chunk without a document is the oldest.
func (p *Predictor) updateRecency(parts map[percached.ChunkID]*part, places map[percached.ChunkID]recency) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, pt := range parts {
		pt.at = places[id]
	}
}

// documents reads a space page by page and keeps only what determines recency.
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

// storePart stores a part and deletes older ones to make room.
func (p *Predictor) storePart(space string, w *task, pt *part, text string) error {
	p.write.Lock()
	defer p.write.Unlock()
	ok, err := p.isCurrent(space, w, map[percached.ChunkID]uint64{pt.chunk: pt.version})
	if !ok || err != nil {
		return err
	}
	pt.bytes = len(text)
	p.mu.RLock()
	old, fits := p.states[w.space].partsToEvict(pt, p.o.AbstractLimit)
	p.mu.RUnlock()
	if !fits {
		return nil
	}
	k := partKey(w.space, pt.chunk)
	value := encodePart(k, pt, text)
	err = p.o.DB.Update(func(tx *kv.Tx) error {
		for _, o := range old {
			if err := tx.Delete(partKey(w.space, o.chunk)); err != nil {
				return err
			}
		}
		return tx.Set(k, value)
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stateOf(w.space)
	for _, o := range old {
		s.removePart(o.chunk)
	}
	s.addPart(pt)
	return nil
}

// partsToEvict lists the parts to delete for a new one, oldest first, all of them older
// than it. The new part fits if Unsummarised listed its chunk and nothing newer arrived
// since, because Unsummarised leaves enough room.
func (s *spaceState) partsToEvict(pt *part, limit int64) (old []*part, fits bool) {
	if s == nil {
		return nil, int64(pt.bytes) <= limit
	}
	need := s.bytes + int64(pt.bytes) - limit
	if was := s.parts[pt.chunk]; was != nil {
		need -= int64(was.bytes)
	}
	if need <= 0 {
		return nil, true
	}
	var older []*part
	for _, o := range s.parts {
		if o.chunk != pt.chunk && o.bytes > 0 && partsByRecency(pt, o) < 0 {
			older = append(older, o)
		}
	}
	slices.SortFunc(older, partsByRecency)
	for _, o := range slices.Backward(older) {
		if need <= 0 {
			break
		}
		old = append(old, o)
		need -= int64(o.bytes)
	}
	return old, need <= 0
}
