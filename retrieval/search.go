package retrieval

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	index "github.com/blevesearch/bleve_index_api"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// maxCandidates bounds K and what a ranking brings into the fusion.
const maxCandidates = 1000

// Query asks for the chunks that may answer a question.
type Query struct {
	Space string
	Text  string // the question; it has no syntax
	// Vector is the question's, of the embedder that made the chunks' vectors.
	// Nil: BM25 alone.
	Vector []float32
	K      int // how many chunks at most
}

// Hit is a chunk that was found.
type Hit struct {
	Chunk   percached.ChunkID
	Version uint64
	Score   float64 // fused: hits are ordered by it
	BM25    float64 // of the question's words, times the share of them that the chunk has
	Cosine  float64 // of the vectors; 0 where the search had none
}

// Stats counts what there is of a space.
type Stats struct {
	Chunks  int   // in the index of words
	Vectors int   // of the embedder at hand
	Bytes   int64 // of the space's folder; vectors lie in the database
	Standing
}

// Standing is what a search rests on.
type Standing struct {
	// Seq is what the index has caught up with: in Stats by words, in Standing by
	// vectors as well (0 while they are another embedder's).
	Seq uint64
	// EmbedderStale: the vectors are another embedder's. Search goes by words
	// alone until Reembed is done.
	EmbedderStale bool
}

// Search gives the best chunks for a question, best first. Equal scores are
// ordered by chunk, so that equal input gives equal output.
func (x *Index) Search(ctx context.Context, q Query) ([]Hit, error) {
	const op = "retrieval.Search"
	if q.K < 1 || q.K > maxCandidates {
		return nil, fault.New(fault.Invalid, op, "%d chunks are not between 1 and %d", q.K, maxCandidates)
	}
	if err := x.ended(ctx); err != nil {
		return nil, fault.Wrap(op, err)
	}
	hits, again, err := x.search(ctx, q, false)
	if again { // what was lost is made again before it is missed
		failed := x.Update(ctx, q.Space)
		if hits, again, err = x.search(ctx, q, true); again {
			err = failed
		}
	}
	return hits, fault.Wrap(op, err)
}

// search asks both sides. Again says that the index must be caught up first.
func (x *Index) search(ctx context.Context, q Query, anyway bool) (hits []Hit, again bool, err error) {
	sp, err := x.enter(q.Space)
	if err != nil {
		return nil, false, err
	}
	defer sp.life.RUnlock()
	_, vec, behind := sp.state()
	// A part of what there was is better than nothing; nothing is an error.
	if behind && !(anyway && sp.text.seq.Load() > 0) {
		return nil, true, nil
	}
	if q.Vector != nil && x.o.Embedder == nil {
		return nil, false, fault.New(fault.Invalid, "retrieval.search", "a vector, and no embedder that it could be of")
	}
	if q.Vector == nil {
		vec = nil
	}
	n := max(q.K, x.o.Candidates)
	var byVector []match
	if vec != nil {
		if len(q.Vector) != vec.dim {
			return nil, false, fault.New(fault.Invalid, "retrieval.search", "a vector of %d dimensions, not %d", len(q.Vector), vec.dim)
		}
		byVector = vec.nearest(q.Vector, n)
	}
	err = sp.text.read(func(r index.IndexReader) error {
		also := make([]percached.ChunkID, len(byVector))
		for i, m := range byVector {
			also[i] = m.id
		}
		byWords, others, err := sp.text.search(ctx, r, q.Text, n, also)
		if err != nil {
			return err
		}
		cosines := map[percached.ChunkID]float64{}
		if vec != nil {
			ids := make([]percached.ChunkID, len(byWords))
			for i, m := range byWords {
				ids[i] = m.id
			}
			vec.cosines(q.Vector, ids, cosines)
		}
		hits = x.o.fuse(byWords, byVector, others, cosines)
		hits = hits[:min(q.K, len(hits))]
		for i := range hits {
			h := &hits[i]
			if h.Version, err = version(r, string(h.Chunk[:])); err != nil {
				return err
			}
			if h.Version == 0 && vec != nil { // the words come in a moment
				h.Version = vec.version(h.Chunk)
			}
		}
		return nil
	})
	if errors.Is(err, errDamaged) {
		x.log("an index broke", "space", sp.name, "error", err)
		sp.breaks()
		return nil, true, nil
	}
	// A chunk that went while it was searched for has no version.
	return slices.DeleteFunc(hits, func(h Hit) bool { return h.Version == 0 }), false, err
}

// fuse makes one ranking of two.
func (o Options) fuse(byWords, byVector []match, words, cosines map[percached.ChunkID]float64) []Hit {
	at := map[percached.ChunkID]int{}
	var hits []Hit
	hit := func(id percached.ChunkID) *Hit {
		i, ok := at[id]
		if !ok {
			i = len(hits)
			at[id] = i
			hits = append(hits, Hit{Chunk: id, BM25: words[id], Cosine: cosines[id]})
		}
		return &hits[i]
	}
	weight := o.VectorWeight
	if byVector == nil {
		weight = 0
	}
	for rank, m := range byWords {
		h := hit(m.id)
		h.BM25 = m.score
		if o.Fusion == RRF {
			h.Score += (1 - weight) / (o.RankConstant + float64(rank+1))
		}
	}
	for rank, m := range byVector {
		h := hit(m.id)
		h.Cosine = m.score
		if o.Fusion == RRF {
			h.Score += weight / (o.RankConstant + float64(rank+1))
		}
	}
	if o.Fusion == Weighted {
		best := 0.0
		for _, h := range hits {
			best = max(best, h.BM25)
		}
		for i := range hits {
			h := &hits[i]
			if best > 0 {
				h.Score = (1 - weight) * h.BM25 / best
			}
			h.Score += weight * max(h.Cosine, 0)
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.Chunk[:], b.Chunk[:]))
	})
	return hits
}

// Standing says what a search of a space rests on, with the count up to which both
// its sides have caught up: what words alone have found was not seen by all of a
// search. It is cheap: it is asked on each question.
func (x *Index) Standing(name string) (Standing, error) {
	sp, err := x.enter(name)
	if err != nil {
		return Standing{}, fault.Wrap("retrieval.Standing", err)
	}
	defer sp.life.RUnlock()
	st, vectors := x.standing(sp)
	st.Seq = min(st.Seq, vectors)
	return st, nil
}

// standing is that of the words, and the count up to which the vectors have caught
// up: 0 while they are another embedder's.
func (x *Index) standing(sp *space) (words Standing, vectors uint64) {
	rec, vec, _ := sp.state()
	words = Standing{
		Seq:           sp.text.seq.Load(),
		EmbedderStale: vec == nil && x.o.Embedder != nil && rec.Active.Embedder != "",
	}
	switch {
	case words.EmbedderStale:
		return words, 0
	case vec == nil:
		return words, words.Seq
	}
	return words, rec.Active.Seq
}

// Stats counts what there is of a space. Its Seq is that of the words, which alone
// need what the feed tells of chunks that went.
func (x *Index) Stats(name string) (Stats, error) {
	const op = "retrieval.Stats"
	sp, err := x.enter(name)
	if err != nil {
		return Stats{}, fault.Wrap(op, err)
	}
	defer sp.life.RUnlock()
	var s Stats
	s.Standing, _ = x.standing(sp)
	if s.Chunks, err = sp.text.chunkCount(); err != nil {
		return Stats{}, fault.New(fault.Internal, op, "%w", err)
	}
	if s.Bytes, err = folderBytes(sp.dir); err != nil {
		return Stats{}, fault.New(fault.Unavailable, op, "%w", err)
	}
	if _, vec, _ := sp.state(); vec != nil {
		s.Vectors = vec.count()
	}
	return s, nil
}
