package answer_test

import (
	"context"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qabank"
)

// A space without a guard stores what stands in no document, and serves it again.
func TestUngroundedWithoutGuard(t *testing.T) {
	set := answer.Default()
	set.Guard = false
	o := llmtest.DefaultOptions()
	o.Script = func(percached.Prompt, string) (string, bool) { return "It is $64,000.", true }
	w := newWorld(t, set, o, func(p *answer.Parts) { p.Unchecked = false })
	w.docs.put("Heron was approved. Its budget is $46,000 and Tamsin leads it.")
	if a := w.ask(t, "What is the budget of Heron?"); a.Grounded || a.Entry == (qabank.ID{}) {
		t.Errorf("%+v", a)
	}
	if a := w.ask(t, "What is the budget of Heron?"); a.Outcome != answer.AnswerHit || a.Text != "It is $64,000." {
		t.Errorf("%+v", a)
	}
}

// An answer that stands in no document says so, shows the best passage, and is not stored.
// "The documents do not say" is an answer like others.
func TestGrounded(t *testing.T) {
	answers := map[string]string{}
	o := llmtest.DefaultOptions()
	o.Script = func(_ percached.Prompt, question string) (string, bool) { return answers[question], true }
	w := newWorld(t, answer.Default(), o, func(p *answer.Parts) { p.Unchecked = false })
	w.docs.put("Heron was approved. Its budget is $46,000 and Tamsin leads it.")
	for _, tt := range []struct {
		question, answer string
		grounded, kept   bool
	}{
		{"What is the budget of Heron?", "It is $64,000.", false, false},
		{"What is the budget of Heron?", "It is $46,000.", true, true},
		{"Who leads Heron?", "Margit leads Heron.", false, false},
		{"Who leads Heron?", "I don't know.", true, true},
		{"Who has the budget of Heron?", "", false, false},
	} {
		answers[tt.question] = tt.answer
		a := w.ask(t, tt.question)
		if a.Text != tt.answer || a.Grounded != tt.grounded || (a.Instead == nil) != tt.grounded {
			t.Errorf("%q: %q: %+v", tt.question, a.Text, a.Grounds)
		}
		e, there, err := w.bank.Exact("s", tt.question)
		if there != tt.kept || err != nil || a.Entry != e.ID {
			t.Errorf("%q: %q: in the bank: %v, %v", tt.question, tt.answer, there, err)
		}
		if e := a.Instead; e != nil && (e.Text == "" || e.Passage != 0 || len(e.Marks) == 0) {
			t.Errorf("%+v", e)
		}
	}
	// The same holds for a prediction; the work still succeeds.
	answers["Who leads Heron today?"] = "Quentin"
	got, err := w.Work(context.Background(), answer.Work{Space: "s", Question: "Who leads Heron today?", Origin: "predicted"})
	if err != nil || got.Grounded || got.Entry != (qabank.ID{}) {
		t.Errorf("%+v, %v", got, err)
	}
	// An answer of the bank is served: a person may have put it there.
	a := w.ask(t, "What is the budget of Heron?")
	if a.Outcome != answer.AnswerHit || !a.Grounded || len(a.Spans) != 1 || a.Spans[0].Word != "46,000" {
		t.Errorf("%s, %+v", a.Outcome, a.Grounds)
	}
}
