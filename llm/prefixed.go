package llm

import (
	"context"

	"github.com/percached/percached"
)

// ForQuestions embeds questions with the model's prefix for them. Two questions are
// compared by these vectors.
func ForQuestions(e Embedder) Embedder { return withPrefix(e, e.Info().QueryPrefix) }

// ForDocuments embeds documents with the model's prefix for them.
func ForDocuments(e Embedder) Embedder { return withPrefix(e, e.Info().DocumentPrefix) }

func withPrefix(e Embedder, prefix string) Embedder {
	if prefix == "" {
		return e
	}
	return prefixed{e, prefix}
}

// prefixed adds a prefix to each text. It does not close the embedder.
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
