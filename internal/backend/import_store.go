package backend

import (
	"context"
	"errors"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/qabank"
)

// store puts an imported entry into the bank, if all that it rests on is here. It
// keeps its mark, so that an answer of another model is not served; and as it has
// seen nothing of this space, it is held against today's search first.
func (i *importing) store(ctx context.Context, l importedLine, vector []float32) error {
	l.Evidence, l.Sources = i.own(l.Evidence), i.own(l.Sources)
	ids := slices.Concat(l.Evidence, l.Sources)
	alive, err := i.Knowledge.Versions(i.space, ids)
	if err != nil && !errors.Is(err, knowledgebank.ErrDamaged) { // what is damaged is not there
		return err
	}
	if slices.ContainsFunc(ids, func(id percached.ChunkID) bool { _, ok := alive[id]; return !ok }) {
		i.refuse(l.line, "a chunk that it rests on is not in this space")
		return nil
	}
	now := i.Now()
	e := qabank.Entry{
		Space: i.space, Question: l.Question, Answer: l.Answer, Answered: true, Refused: l.Refused, Cut: l.Cut, Vector: vector, Embedder: i.Embedder.Info().Fingerprint,
		Sources: l.Sources, Origin: l.Origin, Settings: l.Settings, Made: l.Made, Expires: l.Expires, Hits: min(l.Hits, maxImportHits),
	}
	for _, id := range l.Evidence {
		e.Evidence = append(e.Evidence, percached.Evidence{Chunk: id, Version: alive[id]})
	}
	if e.Made.IsZero() || e.Made.After(now) {
		e.Made = now
	}
	if e.Expires.IsZero() && qabank.RelativeTime(e.Question) {
		e.Expires = qabank.MidnightAfter(e.Made)
	}
	switch _, put, err := i.Bank.PutNew(ctx, e); {
	case fault.KindOf(err) == fault.Invalid:
		i.refuse(l.line, cmdline.Sentence(err))
	case err != nil:
		return err
	case put:
		i.out.Imported++
	default:
		i.out.Skipped++
	}
	return nil
}

// own are the chunks that an imported line names: by the hash of their text, as an
// export does, or by their public ids in this space. What is neither is not there.
func (i *importing) own(named []percached.ChunkID) []percached.ChunkID {
	found := slices.Clone(named)
	alive, _ := i.Knowledge.Versions(i.space, named) // what cannot be read is looked for again
	for n, id := range named {
		if _, ok := alive[id]; !ok {
			found[n] = i.ids.ChunkOf(id)
		}
	}
	return found
}

func (b *Backend) export(ctx context.Context, x api.Export) (api.Nothing, error) {
	return api.Nothing{}, b.exportEntries(ctx, x.Space, x.Each)
}

func (b *Backend) importLines(ctx context.Context, i api.Import) (api.Imported, error) {
	return b.importEntries(ctx, i.Space, i.Lines)
}
