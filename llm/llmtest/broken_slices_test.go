package llmtest

import (
	"context"
	"errors"

	"github.com/percached/percached"
)

// lenient mends a wrong slice where a sound engine refuses it.
func lenient(mend func(s *percached.Slice, right percached.Slice)) func(*bent) {
	return func(b *bent) {
		prompt(func(p *percached.Prompt) {
			tokens, err := b.Fake.Tokenize(p.Segments)
			if err != nil {
				return
			}
			at := layout(*p, tokens)
			for i, s := range p.Segments {
				if s.Slice != nil {
					mend(s.Slice, percached.Slice{
						Model: b.Fake.info.Fingerprint, Path: at[i].path, Start: at[i].start, Tokens: tokens[i], Planes: p.Planes,
					})
				}
			}
		})(b)
	}
}

func resum(s *percached.Slice) {
	for i := range s.Pieces {
		s.Pieces[i].Sum = s.Pieces[i].Checksum()
	}
}

// strip computes what should be restored, and says that it was restored.
func strip(p *percached.Prompt) {
	for i := range p.Segments {
		p.Segments[i].Slice = nil
	}
}

var brokenSlices = []broken{
	{"ignores the model", nil, lenient(func(s *percached.Slice, r percached.Slice) { s.Model = r.Model }), []string{"refuse/model", "refuse/no model"}},
	{"ignores the path", nil, lenient(func(s *percached.Slice, r percached.Slice) { s.Path = r.Path }), []string{"refuse/path", "refuse/path of another"}},
	{"ignores the start", nil, lenient(func(s *percached.Slice, r percached.Slice) { s.Start = r.Start }), []string{"refuse/start late", "refuse/start early", "refuse/start huge"}},
	{"ignores the tokens", nil, lenient(func(s *percached.Slice, r percached.Slice) { s.Tokens = r.Tokens }), []string{"refuse/tokens changed", "refuse/tokens cut", "refuse/tokens added", "refuse/tokens gone"}},
	{"ignores the checksum", nil, lenient(func(s *percached.Slice, _ percached.Slice) { resum(s) }), []string{"refuse/checksum", "refuse/first bit", "refuse/middle bit", "refuse/last bit", "refuse/queries changed"}},
	{"ignores lengths", nil, lenient(func(s *percached.Slice, _ percached.Slice) {
		for i := range s.Pieces {
			p := &s.Pieces[i]
			if n := (p.To - p.From) * 32; n > 0 && n < 1<<20 && len(p.KV) != n {
				p.KV = append(p.KV, make([]byte, n)...)[:n]
			}
		}
		resum(s)
	}), []string{"refuse/bytes short by one", "refuse/bytes cut", "refuse/bytes gone", "refuse/bytes added"}},
	{"ignores the planes", nil, lenient(func(s *percached.Slice, _ percached.Slice) {
		s.Planes = percached.KV
		for i := range s.Pieces {
			s.Pieces[i].Q = nil
		}
		resum(s)
	}), []string{"refuse/queries not there", "refuse/queries not named", "refuse/planes unknown", "refuse/queries gone", "refuse/queries cut", "refuse/queries added", "refuse/queries denied"}},
	{"computes where pieces are wrong", nil, prompt(func(p *percached.Prompt) {
		for i := range p.Segments {
			if s := p.Segments[i].Slice; s != nil {
				at := 0
				for _, pc := range s.Pieces {
					if pc.From != at {
						at = -1
						break
					}
					at = pc.To
				}
				if at != len(s.Tokens) {
					p.Segments[i].Slice = nil
				}
			}
		}
	}), []string{
		"refuse/pieces gone", "refuse/first piece gone", "refuse/last piece gone", "refuse/piece twice", "refuse/pieces overlap",
		"refuse/pieces in disorder", "refuse/piece beyond the end", "refuse/piece backwards", "refuse/piece of huge length", "refuse/piece before the beginning",
	}},
	{"computes instead of refusing", nil, func(b *bent) {
		b.run = func(next generate) generate {
			return func(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
				r, err := next(ctx, p, emit)
				if refused := (*percached.SliceError)(nil); errors.As(err, &refused) {
					p = clonePrompt(p)
					strip(&p)
					return next(ctx, p, emit)
				}
				return r, err
			}
		}
	}, []string{"refuse/another"}},
	{"refuses too late", nil, result(func(_ percached.Prompt, r *percached.Result, err error) error {
		if refused := (*percached.SliceError)(nil); errors.As(err, &refused) {
			r.Usage.Computed = 3
		}
		return err
	}), []string{"refuse/model"}},
	{"refuses the wrong segment", nil, result(func(_ percached.Prompt, _ *percached.Result, err error) error {
		if refused := (*percached.SliceError)(nil); errors.As(err, &refused) {
			return &percached.SliceError{Segment: 1, Reason: refused.Reason}
		}
		return err
	}), []string{"refuse/model"}},
	{"refuses without a reason", nil, result(func(_ percached.Prompt, _ *percached.Result, err error) error {
		if refused := (*percached.SliceError)(nil); errors.As(err, &refused) {
			return &percached.SliceError{Segment: refused.Segment}
		}
		return err
	}), []string{"refuse/model"}},
	{"refuses sound slices", nil, func(b *bent) {
		b.run = func(next generate) generate {
			return func(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
				for i, s := range p.Segments {
					if s.Slice != nil {
						return percached.Result{}, &percached.SliceError{Segment: i, Reason: "no"}
					}
				}
				return next(ctx, p, emit)
			}
		}
	}, []string{"equal/sequential", "equal/parallel", "slices/control"}},
	{"uses no slice", nil, func(b *bent) {
		b.run = func(next generate) generate {
			return func(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
				cold := clonePrompt(p)
				strip(&cold)
				r, err := next(ctx, cold, emit)
				if err == nil {
					tokens, _ := b.Fake.Tokenize(p.Segments)
					for i, s := range p.Segments {
						if s.Slice != nil {
							r.Slices[i] = nil
							r.Usage.Reused += len(tokens[i])
							r.Usage.Computed -= len(tokens[i])
						}
					}
				}
				return r, err
			}
		}
	}, []string{"slices/control"}},
	{"takes slices though it has none", func(o *Options, _ int) { o.NoSlices = "recurrent" }, prompt(strip), []string{"slices/none"}},
	{"says nothing of why it has no slices", nil, func(b *bent) {
		b.info = func(i percached.ModelInfo) percached.ModelInfo { i.BytesPerToken = 0; return i }
	}, []string{"info"}},
}
