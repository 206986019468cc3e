package retrieval

import "github.com/percached/percached"

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
