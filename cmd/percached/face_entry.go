package main

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
		ID: e.ID.String(), Question: e.Question, Answer: e.Answer, Answered: e.Answered, Refused: e.Refused, Cut: e.Cut, Stale: e.Stale, StaleWhy: e.StaleWhy,
		Origin: e.Origin, Evidence: []api.Evidence{}, Hits: e.Hits, Made: e.Made, Used: e.Used, Expires: e.Expires,
	}
	for _, ev := range e.Evidence {
		out.Evidence = append(out.Evidence, api.Evidence{Chunk: ids.Chunk(ev.Chunk), Version: ev.Version})
	}
	return out
}

// entries is a page of a space's stored answers, by ID.
func (s *service) entries(space string, limit int, after string) (api.Entries, error) {
	out := api.Entries{Entries: []api.Entry{}}
	ids, err := s.knowledge.PublicIDs(space)
	if err != nil {
		return out, err
	}
	var from qabank.ID
	if after != "" && from.UnmarshalText([]byte(after)) != nil {
		return out, invalid("query:after", "it must be the next of a page before")
	}
	found, err := s.bank.Page(space, from, limit+1)
	for i, e := range found {
		if i == limit {
			out.Next = out.Entries[i-1].ID
			break
		}
		out.Entries = append(out.Entries, wireEntry(ids, e))
	}
	bank := api.Bank(s.bank.Stats(space))
	out.Bank = &bank
	return out, err
}

// searchEntries finds the stored questions most like a text: the same one first.
func (s *service) searchEntries(ctx context.Context, space, text string, n int) (api.Entries, error) {
	out := api.Entries{Entries: []api.Entry{}}
	ids, err := s.knowledge.PublicIDs(space)
	if err != nil {
		return out, err
	}
	if qabank.Normalise(text) == "" {
		return out, invalid("query:q", "it says nothing")
	}
	vectors, err := s.asker.Embed(ctx, api.Caller(ctx), []string{text})
	if err != nil {
		return out, err
	}
	found := s.bank.Match(space, vectors[0], s.embedder.Info().Fingerprint, 0, n)
	same, there, err := s.bank.Exact(space, text)
	if err != nil {
		return out, err
	}
	if there { // it may have no vector of this embedder
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

// storedAnswer finds an entry by its name.
func (s *service) storedAnswer(space, name string) (qabank.Entry, error) {
	if _, err := s.knowledge.Space(space); err != nil {
		return qabank.Entry{}, err
	}
	var id qabank.ID
	if id.UnmarshalText([]byte(name)) != nil {
		return qabank.Entry{}, noAnswer(name)
	}
	e, err := s.bank.Get(space, id)
	if fault.KindOf(err) == fault.NotFound {
		err = noAnswer(name)
	}
	return e, err
}

func noAnswer(name string) error {
	return fault.New(fault.NotFound, "percached", "there is no stored answer %q", name)
}

// deleteAnswer removes a stored answer.
func (s *service) deleteAnswer(ctx context.Context, space, name string) error {
	e, err := s.storedAnswer(space, name)
	if err != nil {
		return err
	}
	return s.bank.Delete(ctx, space, e.ID)
}

// vetoAnswer keeps a stored answer from ever being given for a question.
func (s *service) vetoAnswer(ctx context.Context, space, name, asked string) error {
	e, err := s.storedAnswer(space, name)
	if err != nil {
		return err
	}
	if qabank.Normalise(asked) == "" {
		return invalid("/asked", "it says nothing")
	}
	if err := s.bank.Veto(ctx, space, asked, e.ID); err != nil {
		return err
	}
	s.scheduler.Changed(space) // it has no answer any more
	return nil
}

func (f *face) entries(_ context.Context, p api.Page) (api.Entries, error) {
	return f.service.entries(p.Space, p.Limit, p.After)
}

func (f *face) searchEntries(ctx context.Context, q api.EntrySearch) (api.Entries, error) {
	return f.service.searchEntries(ctx, q.Space, q.Query, q.Limit)
}

func (f *face) entry(_ context.Context, o api.OneEntry) (api.Entry, error) {
	ids, err := f.service.knowledge.PublicIDs(o.Space)
	if err != nil {
		return api.Entry{}, err
	}
	e, err := f.service.storedAnswer(o.Space, o.Entry)
	if err != nil {
		return api.Entry{}, err
	}
	return wireEntry(ids, e), nil
}

func (f *face) deleteEntry(ctx context.Context, o api.OneEntry) (api.Nothing, error) {
	return api.Nothing{}, f.service.deleteAnswer(ctx, o.Space, o.Entry)
}

func (f *face) vetoEntry(ctx context.Context, v api.VetoIn) (api.Nothing, error) {
	return api.Nothing{}, f.service.vetoAnswer(ctx, v.Space, v.Entry, v.Asked)
}
