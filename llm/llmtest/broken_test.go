package llmtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
)

type (
	emitter  = func(string) error
	generate = func(context.Context, percached.Prompt, emitter) (percached.Result, error)
)

// bent is a fake with something wrong around it.
type bent struct {
	*Fake
	run      func(next generate) generate // around Generate and Prefill
	answer   func(next generate) generate // around Generate alone
	fill     func(next generate) generate // around Prefill alone
	segments func([]percached.Segment) []percached.Segment
	info     func(percached.ModelInfo) percached.ModelInfo
	close    func() error
	complete func(complete) complete
	test     chan struct{} // closed when the test is over
}

func (b *bent) Info() percached.ModelInfo {
	if b.info != nil {
		return b.info(b.Fake.Info())
	}
	return b.Fake.Info()
}

func (b *bent) Tokenize(s []percached.Segment) ([][]int32, error) {
	if b.segments != nil {
		s = b.segments(s)
	}
	return b.Fake.Tokenize(s)
}

func (b *bent) around(next generate, also func(generate) generate) generate {
	for _, w := range []func(generate) generate{also, b.run} {
		if w != nil {
			next = w(next)
		}
	}
	return func(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
		if b.segments != nil {
			p.Segments = b.segments(p.Segments)
		}
		return next(ctx, p, emit)
	}
}

func (b *bent) Generate(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
	return b.around(b.Fake.Generate, b.answer)(ctx, p, emit)
}

func (b *bent) Prefill(ctx context.Context, p percached.Prompt) (percached.Result, error) {
	next := func(ctx context.Context, p percached.Prompt, _ emitter) (percached.Result, error) {
		return b.Fake.Prefill(ctx, p)
	}
	return b.around(next, b.fill)(ctx, p, nil)
}

func (b *bent) Close() error {
	if b.close != nil {
		return b.close()
	}
	return b.Fake.Close()
}

// broken is a way to be wrong, and the checks that must find it.
type broken struct {
	name    string
	options func(o *Options, opened int)
	bend    func(b *bent)
	found   []string
}

// prompt bends what goes in.
func prompt(change func(*percached.Prompt)) func(*bent) {
	return func(b *bent) {
		b.run = func(next generate) generate {
			return func(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
				p = clonePrompt(p)
				change(&p)
				return next(ctx, p, emit)
			}
		}
	}
}

// result bends what comes out.
func result(change func(p percached.Prompt, r *percached.Result, err error) error) func(*bent) {
	return func(b *bent) {
		b.run = func(next generate) generate {
			return func(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
				r, err := next(ctx, p, emit)
				return r, change(p, &r, err)
			}
		}
	}
}

func (br broken) engines(t *testing.T) Engines {
	opened := 0
	e := fakes(nil)
	e.Open = func() (llm.Engine, error) {
		opened++
		o := DefaultOptions()
		o.Context, o.Queue = 1024, 4
		if br.options != nil {
			br.options(&o, opened)
		}
		b := &bent{Fake: NewFake(o), test: make(chan struct{})}
		if br.bend != nil {
			br.bend(b)
		}
		t.Cleanup(func() {
			close(b.test)
			_ = b.Fake.Close()
		})
		return b, nil
	}
	return e
}

// The suite finds what is wrong with each broken engine, in the check whose
// rule it breaks.
func TestBroken(t *testing.T) {
	checks := map[string]check{}
	for _, c := range engineChecks() {
		checks[c.name] = c
	}
	seen := map[string]bool{}
	for _, group := range [][]broken{brokenSlices, brokenReuse, brokenAnswers, brokenPrompts, brokenLines, brokenTyping} {
		for _, br := range group {
			for _, name := range br.found {
				seen[name] = true
				t.Run(fmt.Sprintf("%s/%s", br.name, name), func(t *testing.T) {
					b := &bench{Engines: br.engines(t), patience: 500 * time.Millisecond}
					defer b.close()
					c, ok := checks[name]
					if !ok {
						t.Fatalf("there is no check %q", name)
					}
					err := b.do(c.needSlices, c.run)
					if err == nil || errors.Is(err, errSkip) {
						t.Fatalf("the check passes: %v", err)
					}
					t.Log(err)
				})
			}
		}
	}
	for name := range checks {
		if !seen[name] {
			t.Errorf("no broken engine shows that %q can fail", name)
		}
	}
}
