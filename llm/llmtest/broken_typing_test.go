package llmtest

import (
	"context"
	"errors"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

type complete = func(context.Context, percached.Typing, emitter) (percached.Typed, error)

func (b *bent) Complete(ctx context.Context, t percached.Typing, emit emitter) (percached.Typed, error) {
	if b.complete != nil {
		return b.complete(b.Fake.Complete)(ctx, t, emit)
	}
	return b.Fake.Complete(ctx, t, emit)
}

func (b *bent) ForgetTyped() {
	if b.complete == nil {
		b.Fake.ForgetTyped()
	}
}

// typed bends what comes in and what comes out.
func typed(in func(*percached.Typing), out func(*percached.Typed, error) error) func(*bent) {
	return func(b *bent) {
		b.complete = func(next complete) complete {
			return func(ctx context.Context, t percached.Typing, emit emitter) (percached.Typed, error) {
				in(&t)
				got, err := next(ctx, t, emit)
				return got, out(&got, err)
			}
		}
	}
}

func asIs(*percached.Typing)                      {}
func plainly(_ *percached.Typed, err error) error { return err }

var brokenTyping = []broken{
	{"returns more than asked for", nil, typed(func(t *percached.Typing) { t.Alternatives = 8 }, plainly), []string{"typing/candidates"}},
	{"has no notes", nil, typed(func(t *percached.Typing) { t.Notes = nil }, plainly), []string{"typing/again"}},
	{"mixes owners", nil, typed(func(t *percached.Typing) { t.Owner = "" }, plainly), []string{"typing/owners"}},
	{"forgets nothing", nil, typed(asIs, plainly), []string{"typing/forget"}},
	{"takes anything", nil, typed(func(t *percached.Typing) { t.Alternatives = 3 }, plainly), []string{"typing/wrong"}},
	{"hides errors", nil, typed(asIs, func(_ *percached.Typed, err error) error {
		if fault.KindOf(err) == fault.Invalid || err == nil {
			return err
		}
		return errors.New("it failed")
	}), []string{"typing/cancel", "typing/close"}},
}
