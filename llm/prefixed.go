package llm

import (
	"context"

	"github.com/percached/percached"
)

// ForQuestions embeds questions as the model wants them. Two questions are compared
// by what this gives.
func ForQuestions(e Embedder) Embedder { return withPrefix(e, e.Info().QueryPrefix) }

// ForDocuments embeds what questions are to find.
func ForDocuments(e Embedder) Embedder { return withPrefix(e, e.Info().DocumentPrefix) }

func withPrefix(e Embedder, prefix string) Embedder {
	if prefix == "" {
		return e
	}
	return prefixed{e, prefix}
}

// prefixed puts the same before each text. To close it is the embedder's.
type prefixed struct {
	Embedder
	prefix string
}

func (p prefixed) Embed(ctx context.Context, pr percached.Priority, texts []string) ([][]float32, error) {
	with := make([]string, len(texts))
	for i, t := range texts {
		with[i] = p.prefix + t
	}
	return p.Embedder.Embed(ctx, pr, with)
}
