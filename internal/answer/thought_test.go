package answer_test

import (
	"context"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/llm/llmtest"
)

// thinker is an engine whose model only thinks.
type thinker struct{ *llmtest.Fake }

func (e thinker) Generate(ctx context.Context, p percached.Prompt, _ func(string) error) (percached.Result, error) {
	r, err := e.Fake.Generate(ctx, p, nil)
	r.Text, r.Finish = "", percached.FinishThought
	return r, err
}

// An answer that did not get beyond its thoughts says so, and is not stored, even if nobody
// checks whether it is grounded.
func TestThoughtIsNotKept(t *testing.T) {
	for _, unchecked := range []bool{false, true} {
		w := newWorld(t, answer.Default(), llmtest.DefaultOptions(), func(p *answer.Parts) {
			p.Engine, p.Unchecked = thinker{p.Engine.(*llmtest.Fake)}, unchecked
		})
		w.docs.put(budget)
		a := w.ask(t, heron.Text)
		if a.Finish != percached.FinishThought || a.Text != "" || a.Outcome != answer.Miss || len(a.Notes) != 1 || !unchecked && (a.Grounded || a.Instead == nil) {
			t.Errorf("%+v", a)
		}
		if _, there, err := w.bank.Exact("s", heron.Text); there || err != nil {
			t.Error("it is stored", err)
		}
	}
}
