package llmtest

import (
	"context"
	"fmt"
	"sync"

	"github.com/percached/percached"
)

// hoarder keeps slices inside the engine and restores them unasked, found by
// key.
func hoarder(key func(p percached.Prompt, i int, tokens []int32, at place) string, keep func(*percached.Slice) *percached.Slice) func(*bent) {
	return func(b *bent) {
		var mu sync.Mutex
		kept := map[string]*percached.Slice{}
		b.run = func(next generate) generate {
			return func(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				tokens, _ := b.Fake.Tokenize(p.Segments)
				at := layout(p, tokens)
				mine := clonePrompt(p)
				hoarded := map[int]*percached.Slice{}
				for i, s := range p.Segments {
					k := key(p, i, tokens[i], at[i])
					if s.Slice != nil {
						kept[k] = keep(s.Slice)
					} else if had := kept[k]; had != nil && s.Capture {
						c := cloneSlice(had)
						c.Path, c.Start = at[i].path, at[i].start
						resum(c)
						mine.Segments[i].Slice, hoarded[i] = c, c
					}
				}
				r, err := next(ctx, mine, emit)
				for i, s := range r.Slices {
					if c := hoarded[i]; c != nil {
						r.Slices[i] = c
						r.Usage.Reused -= len(tokens[i])
						r.Usage.Computed += len(tokens[i])
					} else if s != nil {
						kept[key(p, i, tokens[i], at[i])] = cloneSlice(s)
					}
				}
				return r, err
			}
		}
	}
}

func byTokens(_ percached.Prompt, _ int, tokens []int32, _ place) string { return fmt.Sprint(tokens) }

func byPath(_ percached.Prompt, _ int, _ []int32, at place) string { return string(at.path[:]) }

func warm(p percached.Prompt) bool {
	for _, s := range p.Segments {
		if s.Slice != nil {
			return true
		}
	}
	return false
}

var brokenReuse = []broken{
	{
		name: "turns placed like chunks", bend: prompt(func(p *percached.Prompt) {
			for i := range p.Segments {
				if p.Segments[i].Kind == percached.KindTurn {
					p.Segments[i].Kind = percached.KindChunk
				}
			}
		}), found: []string{"equal/turns"},
	},
	{"reuses a chunk behind another prefix", nil, hoarder(byTokens, cloneSlice), []string{"equal/history"}},
	{"keeps what was lent", nil, hoarder(byPath, func(s *percached.Slice) *percached.Slice { return s }), []string{"slices/lent"}},
	{"computes warm differently", nil, result(func(p percached.Prompt, r *percached.Result, err error) error {
		if warm(p) && len(r.Logits) > 0 {
			r.Logits[7] += 1e-3
		}
		return err
	}), []string{"equal/sequential", "equal/parallel", "equal/order", "equal/company", "equal/restart", "equal/sampled", "equal/planes", "equal/lengths", "equal/counts", "equal/prefill"}},
	{"loses a token when warm", nil, func(b *bent) {
		prompt(func(p *percached.Prompt) {
			if last := len(p.Segments) - 1; last >= 0 && warm(*p) {
				t, _ := b.Fake.Tokenize(p.Segments)
				p.Segments[last].Tokens = t[last][:max(len(t[last])-1, 0)]
			}
		})(b)
	}, []string{"equal/sequential", "equal/parallel"}},
	{"counts no reuse", nil, result(func(_ percached.Prompt, r *percached.Result, err error) error {
		r.Usage.Computed, r.Usage.Reused = r.Usage.Prompt, 0
		return err
	}), []string{"equal/sequential"}},
	{"captures otherwise when warm", nil, result(func(p percached.Prompt, r *percached.Result, err error) error {
		for _, s := range r.Slices {
			if s != nil && warm(p) {
				s.Pieces[0].KV[0] ^= 1
				resum(s)
			}
		}
		return err
	}), []string{"equal/sequential", "equal/parallel", "equal/lengths"}},
	{"captures restored segments again", nil, result(func(p percached.Prompt, r *percached.Result, err error) error {
		for i, s := range p.Segments {
			if s.Slice != nil && i < len(r.Slices) {
				r.Slices[i] = s.Slice
			}
		}
		return err
	}), []string{"equal/sequential"}},
	{"changes what it is given", nil, result(func(p percached.Prompt, _ *percached.Result, err error) error {
		for _, s := range p.Segments {
			if s.Slice != nil && len(s.Slice.Pieces) > 0 && len(s.Slice.Pieces[0].KV) > 0 {
				s.Slice.Pieces[0].KV[0] ^= 1
			}
		}
		return err
	}), []string{"equal/sequential", "refuse/model"}},
	{"takes parallel for sequential", nil, prompt(func(p *percached.Prompt) {
		if p.Placement == percached.Parallel {
			p.Placement = percached.Sequential
		}
	}), []string{"equal/parallel", "equal/order", "equal/company"}},
	{"heeds the order of parallel chunks", nil, func(b *bent) {
		b.run = func(next generate) generate {
			return func(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
				r, err := next(ctx, p, emit)
				if p.Placement == percached.Parallel && len(p.Segments) > 2 && len(r.Logits) > 0 {
					r.Logits[0] += float32(len(fmt.Sprint(p.Segments[1].Texts)))
				}
				return r, err
			}
		}
	}, []string{"equal/order"}},
	{"other tensors after a restart", func(o *Options, n int) { o.drift = uint64(n) }, nil, []string{"equal/restart", "equal/history", "line/concurrent", "line/bounded"}},
	{"another fingerprint after a restart", func(o *Options, n int) { o.Name = fmt.Sprint(n) }, nil, []string{"info", "equal/restart"}},
	{"Prefill captures nothing", nil, func(b *bent) {
		b.fill = func(next generate) generate {
			return func(ctx context.Context, p percached.Prompt, emit emitter) (percached.Result, error) {
				r, err := next(ctx, p, emit)
				clear(r.Slices)
				return r, err
			}
		}
	}, []string{"equal/prefill"}},
	{"captures no queries", nil, result(func(_ percached.Prompt, r *percached.Result, err error) error {
		for _, s := range r.Slices {
			for i := 0; s != nil && i < len(s.Pieces); i++ {
				s.Pieces[i].Q = nil
			}
			if s != nil {
				resum(s)
			}
		}
		return err
	}), []string{"equal/planes"}},
	{"queries change the logits", nil, result(func(p percached.Prompt, r *percached.Result, err error) error {
		if p.Planes == percached.QKV && len(r.Logits) > 0 {
			r.Logits[1]++
		}
		return err
	}), []string{"equal/planes"}},
	{"captures a wrong checksum", nil, result(func(_ percached.Prompt, r *percached.Result, err error) error {
		for _, s := range r.Slices {
			if s != nil {
				s.Pieces[len(s.Pieces)-1].Sum++
			}
		}
		return err
	}), []string{"equal/repeated"}},
	{"loses the last piece", nil, result(func(_ percached.Prompt, r *percached.Result, err error) error {
		for _, s := range r.Slices {
			if s != nil {
				s.Pieces = s.Pieces[:len(s.Pieces)-1]
			}
		}
		return err
	}), []string{"equal/repeated"}},
	{"hands the same slice out twice", nil, func(b *bent) {
		out := map[percached.Path]*percached.Slice{}
		result(func(_ percached.Prompt, r *percached.Result, err error) error {
			for i, s := range r.Slices {
				if s != nil && out[s.Path] != nil {
					r.Slices[i] = out[s.Path]
				} else if s != nil {
					out[s.Path] = s
				}
			}
			return err
		})(b)
	}, []string{"slices/owned"}},
}
