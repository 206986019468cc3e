package retrieval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// Fusion is the way in which the two rankings become one.
type Fusion string

// The ways.
const (
	// RRF adds up 1/(RankConstant+rank) over both rankings.
	RRF Fusion = "rrf"
	// Weighted adds up the scores: BM25 as a share of the best one, and the cosine.
	Weighted Fusion = "weighted"
)

// embedder turns texts into vectors of length 1.
type embedder interface {
	Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error)
	Info() percached.EmbedderInfo
}

// feed tells what chunks there are. Every change raises a space's seq.
type feed interface {
	Seq(space string) (uint64, error)
	// Changes calls fn with the live chunks newer than after, by version, and
	// gives those that went since, and the seq that all this is true of.
	Changes(space string, after uint64, fn func(c percached.Chunk) error) (gone []percached.ChunkID, upto uint64, err error)
}

// Options say how chunks are searched for. Start from Default.
type Options struct {
	// Dir holds a folder for each space.
	Dir string
	// DB keeps the vectors; it is durable before it acknowledges.
	DB *kv.DB
	// Embedder is nil where BM25 is to search alone.
	Embedder embedder
	Feed     feed

	Fusion Fusion
	// VectorWeight is the share of the vectors in the fused score.
	VectorWeight float64
	// RankConstant damps the first ranks under RRF.
	RankConstant float64
	// Candidates is how many chunks each ranking brings into the fusion.
	Candidates int
	// OpenSpaces bounds the files and the memory in use: of more spaces, those
	// used longest ago are closed.
	OpenSpaces int
	// MinFree bytes of the disk are never written to.
	MinFree int64
	// Logger is told what is rebuilt and why. Nil keeps silent.
	Logger *slog.Logger
}

// Default is what measured best; Dir, DB, Feed and Embedder are still missing.
func Default() Options {
	return Options{
		Fusion: Weighted, VectorWeight: 0.5, RankConstant: 60, Candidates: 50,
		OpenSpaces: 16, MinFree: 64 << 20,
	}
}

// Validate joins all that is wrong.
func (o Options) Validate() error {
	var errs []error
	missing := func(is bool, what string) {
		if is {
			errs = append(errs, errors.New(what+" is missing"))
		}
	}
	missing(o.Dir == "", "the folder")
	missing(o.DB == nil, "the database")
	missing(o.Feed == nil, "the feed")
	if o.Fusion != RRF && o.Fusion != Weighted {
		errs = append(errs, fmt.Errorf("fusion is %q, not rrf or weighted", o.Fusion))
	}
	if !(o.VectorWeight >= 0 && o.VectorWeight <= 1) {
		errs = append(errs, fmt.Errorf("the vectors' weight %v is not between 0 and 1", o.VectorWeight))
	}
	if !(o.RankConstant >= 0 && o.RankConstant <= 1e6) {
		errs = append(errs, fmt.Errorf("the rank constant %v is not between 0 and 1000000", o.RankConstant))
	}
	if o.Candidates < 1 || o.Candidates > maxCandidates {
		errs = append(errs, fmt.Errorf("%d candidates are not between 1 and %d", o.Candidates, maxCandidates))
	}
	if o.OpenSpaces < 1 {
		errs = append(errs, fmt.Errorf("%d open spaces", o.OpenSpaces))
	}
	if o.MinFree < 0 {
		errs = append(errs, errors.New("free space to keep is negative"))
	}
	return errors.Join(errs...)
}
