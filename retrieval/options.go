package retrieval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// Fusion is how the two rankings become one.
type Fusion string

// The ways to fuse.
const (
	// RRF adds 1/(RankConstant+rank) over both rankings.
	RRF Fusion = "rrf"
	// Weighted adds the scores: BM25 as a share of the best one, and the cosine.
	Weighted Fusion = "weighted"
)

// embedder turns texts into vectors of length 1.
type embedder interface {
	Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error)
	Info() percached.EmbedderInfo
}

// feed lists the chunks of a space. Every change raises the space's seq.
type feed interface {
	Seq(space string) (uint64, error)
	// Changes calls fn with the existing chunks newer than after, ordered by version.
	// It returns the chunks deleted since, and the seq that all this is true of.
	Changes(space string, after uint64, fn func(c percached.Chunk) error) (gone []percached.ChunkID, upto uint64, err error)
}

// Options say how to search for chunks. Start from Default.
type Options struct {
	// Dir holds a folder for each space.
	Dir string
	// Key encrypts the folder: 32 bytes. Nil: it is plain.
	Key []byte
	// DB keeps the vectors; it is durable before it acknowledges.
	DB *kv.DB
	// Embedder may be nil; then Search uses BM25 alone.
	Embedder embedder
	Feed     feed

	Fusion Fusion
	// VectorWeight is the share of the vectors in the fused score.
	VectorWeight float64
	// RankConstant damps the first ranks under RRF.
	RankConstant float64
	// Candidates is how many chunks each ranking brings into the fusion.
	Candidates int
	// OpenSpaces limits how many spaces are open, and so files and memory. Of more
	// spaces, those used longest ago are closed.
	OpenSpaces int
	// MinFree is how many bytes of the disk stay free.
	MinFree int64
	// Logger is told what is rebuilt and why. It may be nil.
	Logger *slog.Logger
}

// Default returns what measured best. Dir, DB, Feed and Embedder are still missing.
func Default() Options {
	return Options{
		Fusion: Weighted, VectorWeight: 0.5, RankConstant: 60, Candidates: 50,
		OpenSpaces: 16, MinFree: 64 << 20,
	}
}

// Validate joins all errors in the options.
func (o Options) Validate() error {
	var errs []error
	missing := func(is bool, what string) {
		if is {
			errs = append(errs, errors.New("the option "+what+" is not set"))
		}
	}
	missing(o.Dir == "", "Dir")
	missing(o.DB == nil, "DB")
	missing(o.Feed == nil, "Feed")
	if o.Fusion != RRF && o.Fusion != Weighted {
		errs = append(errs, fmt.Errorf("the option Fusion is %q, not rrf or weighted", o.Fusion))
	}
	if !(o.VectorWeight >= 0 && o.VectorWeight <= 1) {
		errs = append(errs, fmt.Errorf("the option VectorWeight is %v, not between 0 and 1", o.VectorWeight))
	}
	if !(o.RankConstant >= 0 && o.RankConstant <= 1e6) {
		errs = append(errs, fmt.Errorf("the option RankConstant is %v, not between 0 and 1000000", o.RankConstant))
	}
	if o.Candidates < 1 || o.Candidates > maxCandidates {
		errs = append(errs, fmt.Errorf("the option Candidates is %d, not between 1 and %d", o.Candidates, maxCandidates))
	}
	if o.OpenSpaces < 1 {
		errs = append(errs, fmt.Errorf("the option OpenSpaces is %d, less than 1", o.OpenSpaces))
	}
	if o.MinFree < 0 {
		errs = append(errs, errors.New("the option MinFree is negative"))
	}
	return errors.Join(errs...)
}
