package llm

import (
	"context"
	"errors"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// ErrPreempted ends background work because somebody asked something. The
// result that comes with it holds the slices captured before.
var ErrPreempted = fault.New(fault.Unavailable, "llm", "%w", percached.ErrPreempted)

// ErrClosed is returned by an engine or embedder that was closed.
var ErrClosed = fault.New(fault.Unavailable, "llm", "the engine is closed")

// ErrNotFinite: weights, or tensors that were restored, came to what is not a
// number. The engine keeps nothing of it, and is as good as before.
var ErrNotFinite = errors.New("the model computed what is not a number")

// Engine runs prompts through a language model. It is safe for concurrent use:
// requests wait in line, foreground before background, first come first served.
type Engine interface {
	// Tokenize gives the tokens of each segment as Generate would use them:
	// segments apart from each other, the begin token (if the model wants
	// one) at the head of the first.
	Tokenize(segments []percached.Segment) ([][]int32, error)

	// Generate restores the slices it is given, computes the rest, and
	// answers. emit, when not nil, gets the answer in pieces of whole UTF-8;
	// the engine waits for it, so it must be quick. An error from it ends
	// the run and is returned. A prompt that exceeds the context is Invalid.
	Generate(ctx context.Context, p percached.Prompt, emit func(piece string) error) (percached.Result, error)

	// Prefill computes the prompt without answering: what is captured from
	// it is what Generate would capture.
	Prefill(ctx context.Context, p percached.Prompt) (percached.Result, error)

	// Info never changes.
	Info() percached.ModelInfo

	// Close ends running work, waits for it, and frees everything.
	Close() error
}

// Embedder turns texts into vectors of length 1. It is safe for concurrent use.
type Embedder interface {
	Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error)
	Info() percached.EmbedderInfo
	Close() error
}
