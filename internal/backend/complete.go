package backend

import (
	"context"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
)

// complete continues a text that a user types.
func (b *Backend) complete(ctx context.Context, t api.TypingRequest, emit func(string) error) (api.Completion, error) {
	out := api.Completion{Candidates: []api.Candidate{}, Citations: []api.Citation{}}
	ids, err := b.Knowledge.PublicIDs(t.Space)
	if err != nil {
		return out, err
	}
	defer b.Scheduler.Foreground()()
	done, err := b.Asker.Complete(ctx, answer.Completion{
		Space: t.Space, Caller: api.Caller(ctx), Before: t.Before, After: t.After, Alternatives: t.Alternatives, MaxTokens: t.MaxTokens,
	}, emit)
	if err != nil {
		return out, err
	}
	for _, c := range done.Candidates {
		out.Candidates = append(out.Candidates, api.Candidate{Text: c.Text, LogProb: c.Log, FirstToken: c.First})
	}
	for _, c := range done.Citations {
		out.Citations = append(out.Citations, wireCitation(ids, c))
	}
	out.Tokens = api.CompletionTokens(done.Tokens)
	return out, nil
}
