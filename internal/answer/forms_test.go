package answer_test

import (
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qkvtree"
)

// formsAsked is a tree that keeps the form that each request admits.
type formsAsked struct {
	*qkvtree.Tree
	forms map[percached.Placement]percached.Form
}

func (f formsAsked) View(r qkvtree.Request, fn func([]*percached.Slice, qkvtree.Match) error) error {
	f.forms[r.Placement] = r.Form
	return f.Tree.View(r, fn)
}

// A question with a placement of its own gets the tensors of the form that was measured for it.
func TestFormOfTheQuestionsPlacement(t *testing.T) {
	asked := map[percached.Placement]percached.Form{}
	w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) {
		p.Tree = formsAsked{p.Tree.(*qkvtree.Tree), asked}
		p.Form = func(_ string, s answer.Settings) percached.Form {
			return map[percached.Placement]percached.Form{percached.Sequential: percached.Q8, percached.Parallel: percached.Exact}[s.Placement]
		}
	})
	w.docs.put(budget)
	w.asks(t, heron)
	own := heron
	parallel := percached.Parallel
	own.Settings.Placement = &parallel
	w.asks(t, own)
	if asked[percached.Sequential] != percached.Q8 || asked[percached.Parallel] != percached.Exact || len(asked) != 2 {
		t.Errorf("forms %v", asked)
	}
}
