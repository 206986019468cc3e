package answer_test

import (
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/llm/llmtest"
)

const (
	sumForm  = `root ::= "{\"sum\":" [0-9]+ "}"`
	textForm = `root ::= "{\"text\":\"" [^"]* "\"}"`
)

// An answer in a format is stored and served for that format alone, and its values must
// stand in the documents.
func TestFormats(t *testing.T) {
	o := llmtest.DefaultOptions()
	o.Script = func(p percached.Prompt, _ string) (string, bool) {
		switch {
		case len(p.Stop) > 0 && p.Grammar != "", p.EndLoops && p.Grammar != "":
			t.Error("more than the grammar ends the answer")
		case p.Grammar == sumForm:
			return `{"sum":46}`, true
		case p.Grammar == textForm:
			return `{"text":"Liam"}`, true
		}
		return "The budget is 46 thousand.", true
	}
	w := newWorld(t, answer.Default(), o, func(p *answer.Parts) { p.Unchecked = false })
	ask := func(grammar string) answer.Answer {
		return w.asks(t, answer.Question{Space: "s", Text: "What is the budget of Heron?", Grammar: grammar})
	}
	if a := ask(sumForm); !a.Refused || a.Text[0] == '{' {
		t.Errorf("without documents: %+v", a)
	}
	w.docs.put(budget)
	for _, c := range []struct {
		grammar, want string
		grounded      bool
	}{{"", "The budget is 46 thousand.", true}, {sumForm, `{"sum":46}`, true}, {textForm, `{"text":"Liam"}`, false}} {
		for _, again := range []bool{false, true} {
			a := ask(c.grammar)
			if a.Text != c.want || a.Grounded != c.grounded || (a.Outcome == answer.AnswerHit) != (again && c.grounded) {
				t.Errorf("%q: %q, grounded %v, %s; again %v", c.grammar, a.Text, a.Grounded, a.Outcome, again)
			}
		}
	}
}
