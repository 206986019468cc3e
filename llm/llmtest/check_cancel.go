package llmtest

import (
	"context"
	"errors"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
)

func cancelChecks() []check {
	return []check{
		{name: "cancel/before", run: checkCancelBefore},
		{name: "cancel/during", run: checkCancelDuring},
		{name: "cancel/waiting", run: checkCancelWaiting},
	}
}

func checkCancelBefore(p *probe) {
	pr := p.ask(percached.Sequential)
	ctx, cancel := context.WithCancel(p.context())
	cancel()
	emitted := false
	res, err := p.e.Generate(ctx, pr, func(string) error { emitted = true; return nil })
	if !errors.Is(err, context.Canceled) || emitted || res.Usage.Computed > 0 {
		p.fatalf("Generate with a cancelled context: %v, computed %d, emitted %v", err, res.Usage.Computed, emitted)
	}
	if _, err := p.e.Prefill(ctx, pr); !errors.Is(err, context.Canceled) {
		p.fatalf("Prefill with a cancelled context: %v", err)
	}
}

// A context cancelled while a piece is emitted ends the run behind that piece.
func checkCancelDuring(p *probe) {
	pr := p.talkative()
	whole := p.generate(pr)
	ctx, cancel := context.WithCancel(p.context())
	defer cancel()
	calls := 0
	res, err := p.e.Generate(ctx, pr, func(string) error {
		if calls++; calls == 2 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || calls != 2 {
		p.fatalf("cancelled at piece 2 of %d: %v after %d pieces", len(whole.pieces), err, calls)
	}
	p.keptSlices("a cancelled run", pr, whole, res)
	p.same("after a cancelled run", whole.Result, p.generate(pr).Result)
}

// Who waits in line can leave it, whatever the engine does meanwhile.
func checkCancelWaiting(p *probe) {
	p.fresh(func(e llm.Engine) {
		pr := p.talkative()
		held := p.hold(e, pr)
		defer held.letGo()
		for _, priority := range []percached.Priority{percached.Foreground, percached.Background} {
			pr.Priority = priority
			waiting := p.start(e, pr, nil)
			waiting.cancel()
			await(p, waiting.done, "a cancelled request in line to return")
			if !errors.Is(waiting.err, context.Canceled) {
				p.fatalf("a request cancelled in line: %v", waiting.err)
			}
		}
		held.letGo()
		await(p, held.done, "the end of the running request")
		p.must(held.err, "the running request")
	})
}
