package answer

import (
	"context"
	"errors"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/retrieval"
)

// Freshen looks at every stored answer of a space that was made before the
// latest change of its documents. If a chunk that it does not rest on now ranks
// among the best of its question, the answer is marked stale; else it is
// confirmed. It gives how many became stale.
func (a *Asker) Freshen(ctx context.Context, space string) (int, error) {
	const op = "answer.Freshen"
	set, err := a.Settings(space)
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	seq, err := a.Knowledge.Seq(space)
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	seq = min(seq, a.standing(space).Seq)
	var behind []qabank.Entry
	if err := a.Bank.Each(space, func(e qabank.Entry) error {
		if !e.Stale && e.Seen < seq {
			behind = append(behind, e)
		}
		return nil
	}); err != nil {
		return 0, fault.Wrap(op, err)
	}
	var stale []qabank.ID
	for _, e := range behind {
		best, err := a.best(ctx, space, e, set, percached.Background)
		if ctx.Err() != nil { // what was found out stays
			marked := a.Bank.MarkStale(context.WithoutCancel(ctx), space, stale, newer)
			return 0, fault.Wrap(op, errors.Join(cause(ctx, ctx.Err()), marked))
		}
		if err != nil {
			return 0, fault.Wrap(op, err)
		}
		grown, err := a.outgrown(space, set, best, e)
		if err != nil {
			return 0, fault.Wrap(op, err)
		}
		if grown {
			stale = append(stale, e.ID)
			continue
		}
		err = a.Bank.Confirm(ctx, space, e.ID, seq)
		if err != nil && fault.KindOf(err) != fault.NotFound { // it went meanwhile
			return 0, fault.Wrap(op, err)
		}
	}
	return len(stale), fault.Wrap(op, a.Bank.MarkStale(ctx, space, stale, newer))
}

// newer is why an answer is stale.
const newer = "newer documents bear on it"

// standing is what a search of a space rests on. Without it nothing is confirmed;
// the search says what is wrong.
func (a *Asker) standing(space string) retrieval.Standing {
	st, err := a.Searcher.Standing(space)
	if err != nil {
		return retrieval.Standing{}
	}
	return st
}

// best gives the best chunks of a stored question that are alive.
func (a *Asker) best(ctx context.Context, space string, e qabank.Entry, set Settings, p percached.Priority) ([]percached.Chunk, error) {
	vector := e.Vector
	if e.Embedder != a.Embedder.Info().Fingerprint {
		vector = nil
		vs, err := a.Embedder.Embed(ctx, p, []string{e.Question})
		if err == nil && len(vs) == 1 {
			vector = vs[0]
		}
	}
	return a.search(ctx, space, e.Question, vector, max(set.K, set.KRefresh))
}

// search gives the n best chunks for a question that are alive.
func (a *Asker) search(ctx context.Context, space, text string, vector []float32, n int) ([]percached.Chunk, error) {
	hits, err := a.Searcher.Search(ctx, retrieval.Query{Space: space, Text: text, Vector: vector, K: n + spare})
	if err != nil {
		return nil, err
	}
	ids := make([]percached.ChunkID, len(hits))
	for i, h := range hits {
		ids[i] = h.Chunk
	}
	return a.alive(space, ids, n)
}

// alive reads the first n of these chunks that are alive.
func (a *Asker) alive(space string, ids []percached.ChunkID, n int) (chunks []percached.Chunk, damage error) {
	for len(ids) > 0 && len(chunks) < n {
		some := ids[:min(len(ids), n-len(chunks))]
		ids = ids[len(some):]
		found, err := a.Knowledge.Chunks(space, some)
		chunks = append(chunks, found...)
		switch {
		case err == nil:
		case fault.KindOf(err) == fault.Internal:
			damage = err
		default:
			return nil, err
		}
	}
	if damage != nil && len(chunks) > 0 { // one that is damaged costs the others nothing
		a.Logger.Warn("a chunk that was found cannot be read", "space", space, "error", damage)
		damage = nil
	}
	return chunks, damage
}
