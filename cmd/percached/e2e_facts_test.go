package main

import (
	"context"
	"slices"

	"github.com/percached/percached/api/client"
)

// factsScene: a fact is added, found for a question about the user, changed and deleted.
func (w *world) factsScene(ctx context.Context) {
	added, err := w.all.AddFactWithResponse(ctx, mail, client.NewFact{Text: new("I live in Bergen.")})
	w.is(200, added, err)
	listed, err := w.all.ListFactsWithResponse(ctx, mail)
	w.is(200, listed, err)
	if len(listed.JSON200.Facts) != 1 || listed.JSON200.Facts[0].Text != "The user lives in Bergen." {
		w.Fatalf("%+v", listed.JSON200)
	}
	id := listed.JSON200.Facts[0].ID
	for q, needed := range map[string]bool{"Where do I live?": true, budgetQ: false} {
		a := w.asks(ctx, client.Question{Question: q, Refresh: new(true)})
		cited := slices.ContainsFunc(a.Citations, func(c client.Citation) bool { return c.Document == id })
		if a.Memory == nil || a.Memory.Needed != needed || cited != needed {
			w.Errorf("%s: %+v, the fact is cited: %v", q, a.Memory, cited)
		}
	}
	changed, err := w.all.ChangeFactWithResponse(ctx, mail, id, client.FactChange{Value: new("Oslo")})
	w.is(200, changed, err)
	got, err := w.all.GetFactWithResponse(ctx, mail, id)
	w.is(200, got, err)
	if got.JSON200.Value != "Oslo" {
		w.Errorf("%+v", got.JSON200)
	}
	wrong, err := w.all.AddFactWithResponse(ctx, mail, client.NewFact{Text: new("My password is hunter2")})
	w.is(400, wrong, err)
	gone, err := w.all.DeleteFactWithResponse(ctx, mail, id, &client.DeleteFactParams{CleanUp: new(true)})
	w.is(200, gone, err)
	if r := gone.JSON200; r.Documents != 1 || r.Entries == 0 || !r.CleanedUp {
		w.Errorf("%+v", r)
	}
	none, err := w.all.GetFactWithResponse(ctx, mail, id)
	w.is(404, none, err)
	if a := w.asks(ctx, client.Question{Question: budgetQ}); a.Memory != nil {
		w.Errorf("without facts: %+v", a.Memory)
	}
}
