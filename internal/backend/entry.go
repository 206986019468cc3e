package backend

import (
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank"
)

func wireEntry(ids percached.PublicIDs, e qabank.Entry) api.Entry {
	out := api.Entry{
		ID: e.ID.String(), Question: e.Question, Answer: e.Answer, Answered: e.Answered, Refused: e.Refused, Cut: e.Cut, Stale: e.Stale, StaleWhy: e.StaleWhy, Changed: e.Changed,
		Origin: e.Origin, Under: e.Under, Evidence: []api.Evidence{}, Hits: e.Hits, Made: e.Made, Used: e.Used, Expires: e.Expires,
	}
	for _, ev := range e.Evidence {
		out.Evidence = append(out.Evidence, api.Evidence{Chunk: ids.Chunk(ev.Chunk), Version: ev.Version})
	}
	return out
}

// entries returns a page of a space's stored answers, ordered by ID.
func (b *Backend) entries(_ context.Context, p api.EntryPage) (api.Entries, error) {
	space, limit, after := p.Space, p.Limit, p.After
	out := api.Entries{Entries: []api.Entry{}}
	ids, err := b.Knowledge.PublicIDs(space)
	if err != nil {
		return out, err
	}
	var from qabank.ID
	if after != "" && from.UnmarshalText([]byte(after)) != nil {
		return out, invalid("query:after", wrongCursor)
	}
	page := b.Bank.Page
	if p.Changed {
		page = b.Bank.PageChanged
	}
	found, err := page(space, from, limit+1)
	for i, e := range found {
		if i == limit {
			out.Next = out.Entries[i-1].ID
			break
		}
		out.Entries = append(out.Entries, wireEntry(ids, e))
	}
	bank := api.Bank(b.Bank.Stats(space))
	out.Bank = &bank
	return out, err
}

// SearchEntries finds the stored questions most similar to a text. The same one comes first.
func (b *Backend) SearchEntries(ctx context.Context, q api.EntrySearch) (api.Entries, error) {
	space, text, n := q.Space, q.Query, q.Limit
	out := api.Entries{Entries: []api.Entry{}}
	ids, err := b.Knowledge.PublicIDs(space)
	if err != nil {
		return out, err
	}
	if qabank.Normalise(text) == "" {
		return out, invalid("query:q", "must contain words")
	}
	vectors, err := b.Asker.Embed(ctx, api.Caller(ctx), []string{text})
	if err != nil {
		return out, err
	}
	found := b.Bank.Match(space, vectors[0], b.Embedder.Info().Fingerprint, 0, n)
	same, there, err := b.Bank.Exact(space, text)
	if err != nil {
		return out, err
	}
	if there { // it may lack a vector of this embedder
		found = slices.DeleteFunc(found, func(c qabank.Candidate) bool { return c.Entry.ID == same.ID })
		found = append([]qabank.Candidate{{Entry: same, Similarity: 1}}, found[:min(len(found), n-1)]...)
	}
	for _, c := range found {
		e := wireEntry(ids, c.Entry)
		e.Similarity = &c.Similarity
		out.Entries = append(out.Entries, e)
	}
	return out, nil
}

// storedAnswer finds an entry by its ID.
func (b *Backend) storedAnswer(space, name string) (qabank.Entry, error) {
	if _, err := b.Knowledge.Space(space); err != nil {
		return qabank.Entry{}, err
	}
	var id qabank.ID
	if id.UnmarshalText([]byte(name)) != nil {
		return qabank.Entry{}, errNoEntry(name)
	}
	e, err := b.Bank.Get(space, id)
	if fault.KindOf(err) == fault.NotFound {
		err = errNoEntry(name)
	}
	return e, err
}

func errNoEntry(name string) error {
	return fault.New(fault.NotFound, "percached", "there is no stored answer %q", name)
}

// deleteAnswer deletes a stored answer.
func (b *Backend) deleteAnswer(ctx context.Context, space, name string) error {
	e, err := b.storedAnswer(space, name)
	if err != nil {
		return err
	}
	return b.Bank.Delete(ctx, space, e.ID)
}

// vetoAnswer makes sure that a stored answer is never returned for a question.
func (b *Backend) vetoAnswer(ctx context.Context, space, name, asked string) error {
	e, err := b.storedAnswer(space, name)
	if err != nil {
		return err
	}
	if qabank.Normalise(asked) == "" {
		return invalid("/asked", "must contain words")
	}
	if err := b.Bank.Veto(ctx, space, asked, e.ID); err != nil {
		return err
	}
	b.Scheduler.Changed(space) // the question needs a new answer
	return b.History.MarkWrong(space, asked)
}

func (b *Backend) entry(_ context.Context, o api.OneEntry) (api.Entry, error) {
	ids, err := b.Knowledge.PublicIDs(o.Space)
	if err != nil {
		return api.Entry{}, err
	}
	e, err := b.storedAnswer(o.Space, o.Entry)
	if err != nil {
		return api.Entry{}, err
	}
	return wireEntry(ids, e), nil
}

func (b *Backend) deleteEntry(ctx context.Context, o api.OneEntry) (api.Nothing, error) {
	return api.Nothing{}, b.deleteAnswer(ctx, o.Space, o.Entry)
}

func (b *Backend) vetoEntry(ctx context.Context, v api.VetoRequest) (api.Nothing, error) {
	return api.Nothing{}, b.vetoAnswer(ctx, v.Space, v.Entry, v.Asked)
}
