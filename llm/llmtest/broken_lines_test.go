package llmtest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

var brokenLines = []broken{
	{"knows no priorities", nil, prompt(func(p *percached.Prompt) {
		if p.Priority <= percached.Background {
			p.Priority = percached.Foreground
		}
	}), []string{"line/preempt", "line/foreground first"}},
	{"prefers idle work", nil, prompt(func(p *percached.Prompt) { p.Priority ^= 1 }), []string{"line/foreground first", "line/preempt"}},
	{"calls preemption something else", nil, result(func(_ percached.Prompt, _ *percached.Result, err error) error {
		if errors.Is(err, llm.ErrPreempted) {
			return context.Canceled
		}
		return err
	}), []string{"line/preempt"}},
	{"stops idle work with half a slice", nil, func(b *bent) {
		b.fill = func(next generate) generate {
			return func(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
				idle := p.Priority == percached.Background
				if idle {
					p.Priority = percached.Foreground // so that it always has a slice
				}
				r, err := next(ctx, p, emit)
				if idle && err == nil {
					r.Slices[0].Pieces[0].KV[0] ^= 1
					resum(r.Slices[0])
					err = llm.ErrPreempted
				}
				return r, err
			}
		}
	}, []string{"line/preempt prefill"}},
	{"serves the last first", func(o *Options, _ int) { o.Gate = &Gate{unfair: true} }, nil, []string{"line/fair"}},
	{"has an endless line", func(o *Options, _ int) { o.Queue = 1 << 20 }, nil, []string{"line/bounded"}},
	{"has no line", func(o *Options, _ int) { o.Queue = 0 }, nil, []string{"line/preempt"}},
	{"calls overload something else", nil, result(func(_ percached.Prompt, _ *percached.Result, err error) error {
		if fault.KindOf(err) == fault.Overloaded {
			return errors.New("too much")
		}
		return err
	}), []string{"line/bounded", "line/fair"}},
	{"keeps the place of who left", nil, func(b *bent) {
		b.run = func(next generate) generate {
			return func(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
				var r percached.Result
				var err error
				done := make(chan struct{})
				go func() {
					defer close(done)
					r, err = next(context.WithoutCancel(ctx), p, emit)
				}()
				select {
				case <-done:
					return r, err
				case <-ctx.Done():
					return percached.Result{}, ctx.Err()
				}
			}
		}
	}, []string{"line/fair"}},
	{"fails under two callers", nil, func(b *bent) {
		var inside atomic.Int64
		b.run = func(next generate) generate {
			return func(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
				defer inside.Add(-1)
				if inside.Add(1) > 1 {
					return percached.Result{}, errors.New("already at work")
				}
				return next(ctx, p, emit)
			}
		}
	}, []string{"line/bounded", "cancel/waiting"}},
	{"never closes", nil, func(b *bent) { b.close = func() error { return nil } }, []string{"close/idle", "close/busy", "close/waiting"}},
	{"closes once", nil, func(b *bent) {
		closed := false
		b.close = func() error {
			if closed {
				return errors.New("closed already")
			}
			closed = true
			return b.Fake.Close()
		}
	}, []string{"close/idle"}},
	{"leaves a goroutine", nil, func(b *bent) { go func() { <-b.test }() }, []string{"close/leaks"}},
}
