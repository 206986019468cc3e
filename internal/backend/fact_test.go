package backend

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/node/nodetest"
)

func TestFacts(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	in := api.InSpace{Space: nodetest.Space}
	add := func(n api.NewFact) (api.Facts, error) {
		return b.AddFact(ctx, api.AddFactRequest{InSpace: in, NewFact: n})
	}
	for _, c := range []struct {
		new  api.NewFact
		want []string
	}{
		{api.NewFact{Text: "I live in Bergen and I work as a nurse."}, []string{"The user lives in Bergen.", "The user works as a nurse."}},
		{api.NewFact{Text: "I live in Bergen."}, []string{"The user lives in Bergen."}}, // it has it already
		{api.NewFact{Text: "the spare key is under the mat"}, []string{"The user said: the spare key is under the mat."}},
		{api.NewFact{Who: "Mia", What: "birthday", Value: "3 May"}, []string{"Mia's birthday is 3 May."}},
		{api.NewFact{What: "home", Value: "Rome", Since: "2019-01-02", Until: "2020-03-04"}, []string{"The user lived in Rome."}},
	} {
		var got []string
		for _, f := range given[api.Facts](t)(add(c.new)).Facts {
			got = append(got, f.Text)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%+v (-want +got):\n%s", c.new, d)
		}
	}
	before := given[api.Facts](t)(b.Facts(ctx, in))
	if len(before.Facts) != 5 {
		t.Errorf("%d facts, want 5", len(before.Facts))
	}
	for field, n := range map[string]api.NewFact{
		"/text":   {Text: "my password is hunter2"},
		"/what":   {Value: "x"},
		"/value":  {What: "home"},
		"/since":  {What: "home", Value: "Rome", Since: "May"},
		"/until":  {What: "home", Value: "Rome", Since: "2020-01-02", Until: "2019-01-02"},
		"/text: ": {Text: "I live in Rome", What: "home"},
	} {
		if _, err := add(n); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), strings.Trim(field, "/: ")) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v", field, err)
		}
	}
	one := api.OneDocument{InSpace: in, Document: before.Facts[0].ID}
	if _, err := b.ChangeFact(ctx, api.ChangeFactRequest{OneDocument: one, FactChange: api.FactChange{Until: new("never")}}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a wrong day: %v", err)
	}
	if d := cmp.Diff(before, given[api.Facts](t)(b.Facts(ctx, in))); d != "" {
		t.Errorf("refused requests changed facts:\n%s", d)
	}
	changed := given[api.Fact](t)(b.ChangeFact(ctx, api.ChangeFactRequest{OneDocument: one, FactChange: api.FactChange{Value: new("Voss"), Since: new("")}}))
	if changed.Value != "Voss" || changed.Since != "" || changed.ID != one.Document {
		t.Errorf("%+v", changed)
	}
	if got := given[api.Fact](t)(b.Fact(ctx, one)); got != changed {
		t.Errorf("%+v, want %+v", got, changed)
	}
	letter := given[api.Documents](t)(b.Documents(ctx, api.DocumentPage{Page: api.Page{InSpace: in, Limit: 1}, Find: "Heron"})).Documents[0]
	for name, id := range map[string]percached.DocumentID{"a letter": letter.ID, "nothing": {1}} {
		if _, err := b.DeleteFact(ctx, api.DeleteRequest{InSpace: in, Document: id}); fault.KindOf(err) != fault.NotFound {
			t.Errorf("deleting %s as a fact: %v", name, err)
		}
	}
	if r := given[api.Receipt](t)(b.DeleteFact(ctx, api.DeleteRequest{InSpace: in, Document: one.Document})); r.Documents != 1 {
		t.Errorf("%+v", r)
	}
	if n := len(given[api.Facts](t)(b.Facts(ctx, in)).Facts); n != 4 {
		t.Errorf("%d facts, want 4", n)
	}
}
