package llm

import (
	"context"

	"github.com/percached/percached"
)

// Typist is an engine that completes a text while a person types it. It keeps what it
// computed of the latest texts, in memory only, so that a request computes little more
// than what was typed since the one before.
type Typist interface {
	// Complete continues a text. emit, if not nil, receives the first candidate in pieces
	// of complete UTF-8, under the same rules as in Engine.Generate.
	Complete(ctx context.Context, t percached.Typing, emit func(piece string) error) (percached.Typed, error)

	// ForgetTyped forgets all texts: no later request reuses what was computed for them.
	ForgetTyped()

	// TypedBytes returns the memory that the texts take now.
	TypedBytes() int64
}
