package llmtest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// emits bends what is emitted.
func emits(change func(emit emitter) emitter) func(*bent) {
	return func(b *bent) {
		b.answer = func(next generate) generate {
			return func(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
				if emit == nil {
					return next(ctx, p, nil)
				}
				return next(ctx, p, change(emit))
			}
		}
	}
}

func sampling(change func(*percached.Sampling)) func(*bent) {
	return prompt(func(p *percached.Prompt) { change(&p.Sampling) })
}

var calls atomic.Uint64 // of engines without a memory for seeds

var brokenAnswers = []broken{
	{"emits bytes", nil, emits(func(emit emitter) emitter {
		return func(piece string) error {
			for i := range len(piece) {
				if err := emit(piece[i : i+1]); err != nil {
					return err
				}
			}
			return nil
		}
	}), []string{"stream/stop"}},
	{"emits less than the text", nil, emits(func(emit emitter) emitter {
		n := 0
		return func(piece string) error {
			if n++; n == 2 {
				return nil
			}
			return emit(piece)
		}
	}), []string{"stream/stop", "equal/repeated"}},
	{"ignores stop strings", nil, prompt(func(p *percached.Prompt) { p.Stop = nil }), []string{"stream/stop"}},
	{"knows one stop string", nil, prompt(func(p *percached.Prompt) { p.Stop = p.Stop[:min(len(p.Stop), 1)] }), []string{"stream/stop"}},
	{"swallows what it held back", nil, result(func(p percached.Prompt, r *percached.Result, err error) error {
		if len(p.Stop) > 0 && r.Finish != percached.FinishStop {
			r.Text = ""
		}
		return err
	}), []string{"stream/stop never comes"}},
	{"answers one token too many", nil, prompt(func(p *percached.Prompt) {
		if p.MaxTokens > 0 {
			p.MaxTokens++
		}
	}), []string{"stream/max tokens"}},
	{"ignores errors of emit", nil, emits(func(emit emitter) emitter {
		return func(piece string) error { _ = emit(piece); return nil }
	}), []string{"stream/emit error"}},
	{"hides errors of emit", nil, result(func(_ percached.Prompt, _ *percached.Result, err error) error {
		if err != nil {
			return errors.New("something happened")
		}
		return nil
	}), []string{"stream/emit error", "prompt/invalid"}},
	{"loses slices with an error", nil, result(func(_ percached.Prompt, r *percached.Result, err error) error {
		if err != nil {
			*r = percached.Result{}
		}
		return err
	}), []string{"stream/emit error", "cancel/during", "line/preempt"}},
	{"gives no logits", nil, prompt(func(p *percached.Prompt) { p.Logits = false }), []string{"equal/repeated"}},
	{"gives logits unasked", nil, prompt(func(p *percached.Prompt) { p.Logits = true }), []string{"equal/repeated"}},
	{"forgets seeds", nil, sampling(func(s *percached.Sampling) { s.Seed = calls.Add(1) }), []string{"sampling/seed"}},
	{"has one seed", nil, sampling(func(s *percached.Sampling) { s.Seed = 1 }), []string{"sampling/seed"}},
	{"is not greedy", nil, sampling(func(s *percached.Sampling) { s.Temperature = max(s.Temperature, 2) }), []string{"sampling/greedy"}},
	{"ignores top-k and top-p", nil, sampling(func(s *percached.Sampling) { s.TopK, s.TopP, s.Temperature = 0, 0, 3*s.Temperature }), []string{"sampling/greedy"}},
	{"ignores grammars", nil, prompt(func(p *percached.Prompt) { p.Grammar = "" }), []string{"grammar/obeyed", "grammar/refused"}},
	{"ignores contexts", nil, func(b *bent) {
		b.run = func(next generate) generate {
			return func(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
				return next(context.WithoutCancel(ctx), p, emit)
			}
		}
	}, []string{"cancel/before", "cancel/during", "cancel/waiting"}},
}

// segments bends how texts become tokens.
func segments(change func(i int, s *percached.Segment)) func(*bent) {
	return func(b *bent) {
		b.segments = func(given []percached.Segment) []percached.Segment {
			bent := clonePrompt(percached.Prompt{Segments: given}).Segments
			for i := range bent {
				change(i, &bent[i])
			}
			return bent
		}
	}
}

var brokenPrompts = []broken{
	{"heeds control tokens in documents", nil, segments(func(_ int, s *percached.Segment) {
		for i := range s.Texts {
			s.Texts[i].Special = true
		}
	}), []string{"tokens/special"}},
	{"begins every segment anew", nil, segments(func(i int, s *percached.Segment) {
		if i > 0 && s.Tokens == nil {
			s.Texts = append([]percached.Text{{Text: "<s>", Special: true}}, s.Texts...)
		}
	}), []string{"tokens/begin"}},
	{"joins texts", nil, segments(func(_ int, s *percached.Segment) {
		for len(s.Texts) > 1 && s.Texts[0].Special == s.Texts[1].Special {
			s.Texts[1].Text = s.Texts[0].Text + s.Texts[1].Text
			s.Texts = s.Texts[1:]
		}
	}), []string{"tokens/apart"}},
	{"misreads tokens", nil, prompt(func(p *percached.Prompt) {
		for i := range p.Segments {
			if t := p.Segments[i].Tokens; len(t) > 1 {
				t[0], t[1] = t[1], t[0]
			}
		}
	}), []string{"tokens/set"}},
	{"trips over empty segments", nil, result(func(p percached.Prompt, _ *percached.Result, err error) error {
		for _, s := range p.Segments {
			if s.Kind == percached.KindChunk && len(s.Texts) == 1 && s.Texts[0].Text == "" {
				return errors.New("a batch of no tokens")
			}
		}
		return err
	}), []string{"equal/empty"}},
	{"refuses what just fits", func(o *Options, _ int) { o.Context = 1000 }, func(b *bent) {
		b.info = func(i percached.ModelInfo) percached.ModelInfo { i.Context = 1024; return i }
	}, []string{"prompt/too long"}},
	{"leaves out what does not fit", nil, prompt(func(p *percached.Prompt) {
		if len(p.Segments) == 5 && len(p.Segments[2].Tokens) > 100 {
			p.Segments[2].Tokens = p.Segments[2].Tokens[:100]
		}
	}), []string{"prompt/too long"}},
	{"mends bad prompts", nil, prompt(func(p *percached.Prompt) { p.MaxTokens = max(p.MaxTokens, 1) }), []string{"prompt/invalid"}},
	{"says one thing of all bad prompts", nil, result(func(_ percached.Prompt, _ *percached.Result, err error) error {
		if fault.KindOf(err) == fault.Invalid {
			return fault.New(fault.Invalid, "test", "bad prompt")
		}
		return err
	}), []string{"prompt/invalid"}},
	{"wants a question of Prefill", nil, func(b *bent) {
		b.fill = func(next generate) generate {
			return func(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
				if n := len(p.Segments); n > 0 && p.Segments[n-1].Kind != percached.KindQuestion {
					return percached.Result{}, fault.New(fault.Invalid, "test", "no question")
				}
				return next(ctx, p, emit)
			}
		}
	}, []string{"prompt/prefill", "equal/prefill"}},
}
