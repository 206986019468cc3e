package answer_test

import (
	"context"
	"slices"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qabank/gate"
	"github.com/percached/percached/qabank/likeness"
)

// oneVector finds all texts alike.
type oneVector struct{ *llmtest.FakeEmbedder }

func (e oneVector) Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error) {
	return e.FakeEmbedder.Embed(ctx, p, slices.Repeat([]string{"text"}, len(texts)))
}

// An answer that was served for a question in other words is compared with a fresh one when
// idle work answers that question, once; at a budget of 0 it is not served.
func TestServedAnswersAreChecked(t *testing.T) {
	var bank *qabank.Bank
	var checks []bool
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) {
		o := qabank.Default()
		o.Start = gate.Calibration{{Score: 0.5, Questions: 5000}} // no answer from there on was wrong
		var err error
		if bank, err = qabank.Open(open(t, t.TempDir(), kv.Default()), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { bank.Close() })
		p.Bank = bank
		p.Likeness = likeness.For(percached.EmbedderInfo{Name: "all-MiniLM-L6-v2"}, 0.85)
		p.Embedder = oneVector{llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())}
		p.Observer.Checked = func(_ string, right bool) { checks = append(checks, right) }
	})
	w.docs.put("The spare key hangs behind the blue door of the boathouse.")
	const stored, asked = "Where does the spare key of the boathouse hang?", "On what hook can the spare key of the boathouse be found?"
	w.ask(t, stored)
	report := func() gate.Report {
		r, err := w.GateReport("s")
		if err != nil {
			t.Fatal(err)
		}
		return gate.Report{Served: r.Served, Checked: r.Checked, Wrong: r.Wrong}
	}
	if a := w.ask(t, asked); a.Outcome != answer.AnswerHit {
		t.Fatalf("%s: %+v", a.Outcome, a.Gate)
	}
	if r := report(); r.Served != 1 || r.Checked != 0 {
		t.Fatalf("%+v", r)
	}
	for range 2 {
		if _, err := w.Work(t.Context(), answer.Work{Space: "s", Question: asked, Origin: answer.Asked}); err != nil {
			t.Fatal(err)
		}
		if r := report(); r.Served != 1 || r.Checked != 1 || len(checks) != 1 {
			t.Errorf("%+v, %d checks observed", r, len(checks))
		}
	}
	none := 0.0
	a := w.asks(t, answer.Question{Space: "s", Text: "What is the location of the spare key of the boathouse?", Settings: percached.Settings{MaxWrong: &none}})
	if a.Outcome == answer.AnswerHit {
		t.Errorf("served at a budget of 0: %+v", a.Gate)
	}
}
