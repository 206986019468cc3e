package answer

import (
	"context"
	"slices"

	"github.com/percached/percached"
)

// embedTurn is how many texts of a caller are embedded before it is another's turn.
const embedTurn = 8

// Embed makes the vectors of questions that somebody waits for.
func (a *Asker) Embed(ctx context.Context, caller string, questions []string) ([][]float32, error) {
	return a.EmbedBy(ctx, a.Embedder, caller, questions)
}

// EmbedBy makes the vectors of texts that somebody waits for. Callers take turns, as at
// the engine, so that the many texts of one do not keep another's question waiting.
func (a *Asker) EmbedBy(ctx context.Context, by embedder, caller string, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for some := range slices.Chunk(texts, embedTurn) {
		made, err := a.embedSome(ctx, by, caller, some)
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, made...)
	}
	return vectors, nil
}

func (a *Asker) embedSome(ctx context.Context, by embedder, caller string, texts []string) ([][]float32, error) {
	p, err := a.embeds.enter(caller)
	if err != nil {
		return nil, err
	}
	defer p.leave()
	if err := p.turn(ctx); err != nil {
		return nil, err
	}
	return by.Embed(ctx, percached.Foreground, texts)
}
