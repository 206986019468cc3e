package answer

import (
	"context"
	"errors"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank"
)

// newerDocuments is why an answer is stale.
const newerDocuments = "newer documents bear on it"

// fresh says whether the answer is, as far as documents decide it, the one that would
// be computed today. An exact repeat needs a prompt of the same chunks (see outgrown),
// as does an answer that was never compared with a whole search. A near question needs
// only that none of its best chunks came in later. An entry that is not fresh is marked
// stale.
func (a *Asker) fresh(ctx context.Context, r request, found retrieved, c candidate, p *progress) (bool, error) {
	e := c.Entry
	if !r.settings.Guard || e.Seen >= found.seq {
		return true, nil
	}
	fresh, whole := true, c.exact || e.Seen == 0
	var seen uint64
	if whole {
		seen = min(found.seq, a.standing(r.Space).Seq) // read before the search
		best, err := a.searchStored(ctx, r.Space, e, r.settings, percached.Foreground)
		if err != nil {
			return false, err
		}
		grown, err := a.outgrown(r.Space, r.settings, best, e)
		if err != nil {
			return false, err
		}
		fresh = !grown
	} else {
		for _, ch := range found.best(r.settings.KRefresh) {
			fresh = fresh && (ch.Version <= e.Seen || restsOn(e, ch))
		}
	}
	var err error
	switch {
	case !fresh:
		err = a.Bank.MarkStale(ctx, r.Space, []qabank.ID{e.ID}, newerDocuments)
	case whole:
		err = a.Bank.Confirm(ctx, r.Space, e.ID, seen)
	}
	if err != nil && fault.KindOf(err) != fault.NotFound { // NotFound: it was evicted
		p.without("the bank", err)
	}
	return fresh, nil
}

// outgrown says whether documents have outgrown a stored answer. They have if its
// question's prompt would hold a chunk that the answer does not rest on, or if such a
// chunk is among its best and came in after the answer. Where chunks stand in a sequence
// by relevance, they have also if the order differs.
func (a *Asker) outgrown(space string, s Settings, best []percached.Chunk, e qabank.Entry) (bool, error) {
	ordered := s.Placement == percached.Sequential && s.Order == percached.Relevance
	prompt := best[:min(len(best), s.K)]
	if len(e.Evidence) < len(prompt) { // they may not all fit the context
		plan, err := planPrompt(a.Engine, Question{Space: space, Text: e.Question}, s, percached.Foreground, prompt)
		if err != nil || len(plan.used()) != len(e.Evidence) {
			return true, err
		}
		prompt = plan.used()
	}
	for i, c := range prompt {
		if !restsOn(e, c) || ordered && e.Evidence[i].Chunk != c.ID {
			return true, nil
		}
	}
	return e.Seen > 0 && slices.ContainsFunc(best, func(c percached.Chunk) bool { return c.Version > e.Seen && !restsOn(e, c) }), nil
}

// restsOn says whether an entry's answer was made from a chunk.
func restsOn(e qabank.Entry, c percached.Chunk) bool {
	return slices.ContainsFunc(e.Evidence, func(ev percached.Evidence) bool { return ev.Chunk == c.ID })
}

// Freshen checks every stored answer of a space that is older than the latest change of
// its documents. Answers that the documents have outgrown are marked stale, the others
// confirmed. It returns how many became stale.
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
		best, err := a.searchStored(ctx, space, e, set, percached.Background)
		if ctx.Err() != nil { // the entries found stale so far are marked all the same
			marked := a.Bank.MarkStale(context.WithoutCancel(ctx), space, stale, newerDocuments)
			return 0, fault.Wrap(op, errors.Join(interruption(ctx, ctx.Err()), marked))
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
		if err != nil && fault.KindOf(err) != fault.NotFound { // NotFound: it was evicted
			return 0, fault.Wrap(op, err)
		}
	}
	return len(stale), fault.Wrap(op, a.Bank.MarkStale(ctx, space, stale, newerDocuments))
}
