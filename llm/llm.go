package llm

import (
	"context"
	"errors"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// ErrPreempted ends background work because of a foreground request. The result with it
// holds the slices captured so far.
var ErrPreempted = fault.New(fault.Unavailable, "llm", "%w", percached.ErrPreempted)

// ErrClosed is returned by an engine or embedder that was closed.
var ErrClosed = fault.New(fault.Unavailable, "llm", "the engine is closed")

// ErrNotFinite means that the weights or the restored tensors led to values that are not
// finite. The engine keeps nothing of that run and stays usable.
var ErrNotFinite = errors.New("the model computed what is not a number")

// Engine runs prompts through a language model. It is safe for concurrent use: requests
// queue, foreground before background, first come first served.
type Engine interface {
	// Tokenize returns the tokens of each segment as Generate would use them: each
	// segment on its own, with the model's begin token, if any, at the start of the
	// first.
	Tokenize(segments []percached.Segment) ([][]int32, error)

	// Generate restores the given slices, computes the rest, and answers. emit, if not
	// nil, receives the answer in pieces of complete UTF-8. The engine waits for it, so
	// it must be quick; its error ends the run and is returned. A prompt that exceeds the
	// context is Invalid.
	Generate(ctx context.Context, p percached.Prompt, emit func(piece string) error) (percached.Result, error)

	// Prefill computes the prompt without answering. It captures what Generate would
	// capture.
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
