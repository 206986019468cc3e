package backend

import (
	"context"
	"errors"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/memory"
	"github.com/percached/percached/internal/memory/fact"
)

func wireFact(ids percached.PublicIDs, f memory.Fact) api.Fact {
	return api.Fact{
		ID: ids.Document(f.ID), Text: f.Sentence(), Who: f.Who, What: f.What, Value: f.Value,
		Since: dayText(f.Since), Until: dayText(f.Until), Said: dayText(f.Said), Heard: f.Heard, Added: f.Added.UTC(),
	}
}

func dayText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// day reads a day; empty is the zero time.
func day(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || t.Year() < 1 {
		return time.Time{}, invalid(field, "must be a day such as 2026-03-04")
	}
	return t, nil
}

// factProblem names the wrong field of a refused fact.
func factProblem(err error) error {
	if f, ok := errors.AsType[*fact.FieldError](err); ok {
		return invalid("/"+f.Field, f.Detail)
	}
	return err
}

func (b *Backend) facts(_ context.Context, in api.InSpace) (api.Facts, error) {
	out := api.Facts{Facts: []api.Fact{}}
	ids, err := b.Knowledge.PublicIDs(in.Space)
	if err != nil {
		return out, err
	}
	all, err := b.Memory.List(in.Space)
	for _, f := range all {
		out.Facts = append(out.Facts, wireFact(ids, f))
	}
	return out, err
}

func (b *Backend) fact(_ context.Context, o api.OneDocument) (api.Fact, error) {
	ids, err := b.Knowledge.PublicIDs(o.Space)
	if err != nil {
		return api.Fact{}, err
	}
	f, err := b.Memory.Get(o.Space, ids.DocumentOf(o.Document))
	if err != nil {
		return api.Fact{}, err
	}
	return wireFact(ids, f), nil
}

// addFact adds the facts that a statement has, or else the statement itself as a note.
func (b *Backend) addFact(ctx context.Context, in api.AddFactRequest) (api.Facts, error) {
	out := api.Facts{Facts: []api.Fact{}}
	ids, err := b.Knowledge.PublicIDs(in.Space)
	if err != nil {
		return out, err
	}
	records, err := b.newRecords(in.NewFact)
	if err != nil {
		return out, err
	}
	for _, r := range records {
		f, added, err := b.Memory.Add(ctx, in.Space, r)
		if err != nil {
			return out, factProblem(err)
		}
		if added {
			b.Scheduler.Changed(in.Space)
		}
		out.Facts = append(out.Facts, wireFact(ids, f))
	}
	return out, nil
}

// newRecords are the records of a request, all checked.
func (b *Backend) newRecords(n api.NewFact) ([]fact.Record, error) {
	now := fact.Day(b.Now())
	if n.Text != "" {
		if n != (api.NewFact{Text: n.Text}) {
			return nil, invalid("/text", "must stand alone: send either text, or what and value")
		}
		if kind := fact.Secret(n.Text); kind != "" {
			return nil, invalid("/text", "looks like "+kind+"; percached stores no secrets as facts")
		}
		found := fact.Extract(n.Text, now)
		if len(found) == 0 {
			r := fact.Record{What: fact.Note, Value: fact.Tidy(n.Text), Said: now}
			if f, ok := errors.AsType[*fact.FieldError](r.Check()); ok {
				return nil, invalid("/text", f.Detail)
			}
			return []fact.Record{r}, nil
		}
		for i := range found {
			found[i].Heard = false
		}
		return found, nil
	}
	r := fact.Record{Who: fact.Tidy(n.Who), What: fact.Tidy(n.What), Value: fact.Tidy(n.Value), Said: now}
	var err1, err2 error
	r.Since, err1 = day("/since", n.Since)
	r.Until, err2 = day("/until", n.Until)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, factProblem(fault.New(fault.Invalid, "percached", "%w", err))
	}
	return []fact.Record{r}, nil
}

func (b *Backend) changeFact(ctx context.Context, in api.ChangeFactRequest) (api.Fact, error) {
	ids, err := b.Knowledge.PublicIDs(in.Space)
	if err != nil {
		return api.Fact{}, err
	}
	f, err := b.Memory.Change(ctx, in.Space, ids.DocumentOf(in.Document), func(r *fact.Record) (err error) {
		if in.Value != nil {
			r.Value = fact.Tidy(*in.Value)
		}
		if in.Since != nil {
			if r.Since, err = day("/since", *in.Since); err != nil {
				return err
			}
		}
		if in.Until != nil {
			r.Until, err = day("/until", *in.Until)
		}
		return err
	})
	if err != nil {
		return api.Fact{}, factProblem(err)
	}
	return wireFact(ids, f), nil
}

// deleteFact deletes a fact's document with everything made from it.
func (b *Backend) deleteFact(ctx context.Context, o api.DeleteRequest) (api.Receipt, error) {
	ids, err := b.Knowledge.PublicIDs(o.Space)
	if err != nil {
		return api.Receipt{}, err
	}
	if _, err := b.Memory.Get(o.Space, ids.DocumentOf(o.Document)); err != nil {
		return api.Receipt{}, err
	}
	// It is not remembered: the user may state it again.
	return b.deleteDocument(ctx, api.DeleteDocumentRequest{DeleteRequest: o})
}
