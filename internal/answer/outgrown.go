package answer

import (
	"context"

	"github.com/percached/percached/internal/base/fault"
)

// errShorter means that the context became shorter at a moment at which the question cannot
// be planned anew.
var errShorter = fault.New(fault.Unavailable, "answer", "memory became scarce, and the model's context shorter, while the question was answered; ask again")

// compute generates the answer of a plan. If the context has become shorter since it was
// planned, so that the engine refuses the prompt, it plans anew.
func (a *Asker) compute(ctx context.Context, r request, found retrieved, plan promptPlan, w weighing, p *progress) (request, promptPlan, Answer, madeSlices, error) {
	for {
		computed, made, err := a.generate(ctx, r, plan, a.matchTensors(r, plan, p), a.drafts(r, w, plan), p)
		switch {
		case fault.KindOf(err) != fault.Invalid || !plan.outgrows(a.Engine):
			return r, plan, computed, made, err
		case p.pieces > 0: // a shorter prompt leads to another answer
			return r, plan, computed, made, errShorter
		}
		r = a.bounded(r)
		if plan, err = a.plan(r, found.best(r.settings.K), p); err != nil {
			return r, plan, Answer{}, madeSlices{}, err
		}
	}
}

// outgrows reports whether a plan fitted the context when it was made, and does not now.
func (p *promptPlan) outgrows(e tokenizer) bool {
	length, tokens := e.Info().Context, p.prompt.MaxTokens
	for _, s := range p.prompt.Segments {
		tokens += len(s.Tokens)
	}
	return length < p.context && tokens > length
}

// bounded bounds the answer by half of the context, as the settings for this context do.
func (a *Asker) bounded(r request) request {
	s := r.settings
	s.MaxTokens = max(1, min(s.MaxTokens, a.Engine.Info().Context/2))
	return a.newRequest(r.Question, s, r.work)
}
