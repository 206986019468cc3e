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

// maxCandidates limits K and the candidates of each ranking.
const maxCandidates = 1000

// Query asks for the chunks that may answer a question.
type Query struct {
	Space string
	Text  string // the question; it has no syntax
	// Vector is the question's, of the embedder that made the chunks' vectors. nil:
	// BM25 alone.
	Vector []float32
	K      int // how many chunks at most
	// Without are chunks that are left out, as if they were not in the space.
	Without map[percached.ChunkID]bool
}

// Hit is a chunk that was found.
type Hit struct {
	Chunk   percached.ChunkID
	Version uint64
	Score   float64 // fused; hits are ordered by it
	BM25    float64 // of the question's words, times the share of them that the chunk has
	Cosine  float64 // of the vectors; 0 if the search had none
}

// Stats counts the content of a space.
type Stats struct {
	Chunks  int   // in the index of words
	Vectors int   // of the current embedder
	Bytes   int64 // of the space's folder; vectors are in the database
	Standing
}

// Standing is the state that a search rests on.
type Standing struct {
	// Seq is the seq that the index has caught up with: in Stats by words, in Standing
	// by words and vectors (0 while the vectors are another embedder's).
	Seq uint64
	// EmbedderStale: the vectors are another embedder's. Search uses words alone until
	// Reembed is done.
	EmbedderStale bool
}

// Search returns the best chunks for a question, best first. Equal scores are ordered
// by chunk, so equal input gives equal output.
func (x *Index) Search(ctx context.Context, q Query) ([]Hit, error) {
	const op = "retrieval.Search"
	if q.K < 1 || q.K > maxCandidates {
		return nil, fault.New(fault.Invalid, op, "K is %d, not between 1 and %d", q.K, maxCandidates)
	}
	if err := x.ended(ctx); err != nil {
		return nil, fault.Wrap(op, err)
	}
	hits, again, err := x.search(ctx, q, false)
	if again { // rebuild what was lost before it is missed
		failed := x.Update(ctx, q.Space)
		if hits, again, err = x.search(ctx, q, true); again {
			err = failed
		}
	}
	return hits, fault.Wrap(op, err)
}

// search asks words and vectors. again says that the index must catch up first.
func (x *Index) search(ctx context.Context, q Query, anyway bool) (hits []Hit, again bool, err error) {
	sp, err := x.openToRead(q.Space)
	if err != nil {
		return nil, false, err
	}
	defer sp.filesInUse.RUnlock()
	_, vec, behind := sp.state()
	// A part of the index is better than nothing; an empty one is an error.
	if behind && !(anyway && sp.text.seq.Load() > 0) {
		return nil, true, nil
	}
	if q.Vector != nil && x.o.Embedder == nil {
		return nil, false, fault.New(fault.Invalid, "retrieval.search", "the query has a vector, but no embedding model is configured")
	}
	if q.Vector == nil {
		vec = nil
	}
	n := min(max(q.K, x.o.Candidates)+len(q.Without), max(maxCandidates, x.o.Candidates))
	var byVector []match
	if vec != nil {
		if len(q.Vector) != vec.dim {
			return nil, false, fault.New(fault.Invalid, "retrieval.search", "the query vector has %d dimensions, not %d", len(q.Vector), vec.dim)
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
		hits = slices.DeleteFunc(hits, func(h Hit) bool { return q.Without[h.Chunk] })
		hits = hits[:min(q.K, len(hits))]
		for i := range hits {
			h := &hits[i]
			if h.Version, err = version(r, string(h.Chunk[:])); err != nil {
				return err
			}
			if h.Version == 0 && vec != nil { // the index of words gets it in a moment
				h.Version = vec.version(h.Chunk)
			}
		}
		return nil
	})
	if errors.Is(err, errDamaged) {
		x.log("cannot read an index", "space", sp.name, "error", err)
		sp.markBroken()
		return nil, true, nil
	}
	// A chunk deleted during the search has no version.
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

// Standing returns the state that a search of a space rests on, with the seq that both
// words and vectors have caught up with. It is cheap: every question calls it.
func (x *Index) Standing(name string) (Standing, error) {
	sp, err := x.openToRead(name)
	if err != nil {
		return Standing{}, fault.Wrap("retrieval.Standing", err)
	}
	defer sp.filesInUse.RUnlock()
	st, vectors := x.standing(sp)
	st.Seq = min(st.Seq, vectors)
	return st, nil
}

// standing returns the state of the words, and the seq that the vectors have caught up
// with: 0 while they are another embedder's.
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

// Stats counts the content of a space. Its Seq is that of the words: only they need the
// feed's list of deleted chunks.
func (x *Index) Stats(name string) (Stats, error) {
	const op = "retrieval.Stats"
	sp, err := x.openToRead(name)
	if err != nil {
		return Stats{}, fault.Wrap(op, err)
	}
	defer sp.filesInUse.RUnlock()
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
