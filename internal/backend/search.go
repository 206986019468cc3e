package backend

import (
	"context"

	"github.com/percached/percached/api"
)

// searchDocuments finds passages of documents. It needs no language model.
func (b *Backend) searchDocuments(ctx context.Context, q api.PassageSearch) (api.Passages, error) {
	out := api.Passages{Passages: []api.Citation{}}
	ids, err := b.Knowledge.PublicIDs(q.Space)
	if err != nil {
		return out, err
	}
	found, err := b.Asker.Find(ctx, api.Caller(ctx), q.Space, string(q.Query), q.Limit)
	for _, c := range found {
		out.Passages = append(out.Passages, wireCitation(ids, c))
	}
	return out, err
}
