package llamacpp

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// chooser returns a func that chooses the next token: the best, or drawn by temperature,
// of those that the grammar allows. The first one does not end the answer: small models
// answer some questions with nothing.
func (r *run) chooser(ctx context.Context, s percached.Sampling) func() (int32, error) {
	pick, choose := greedy, func() (int32, error) { return r.cache.best(), nil }
	if s.Temperature > 0 {
		pick = newSampler(s).draw
		choose = func() (int32, error) {
			logits, err := r.cache.logits()
			if err != nil {
				return 0, err
			}
			return pick(logits), nil
		}
	}
	return func() (int32, error) {
		t, err := choose()
		if err == nil && t < 0 {
			// The values in the cells must not reach a later run, not even masked.
			r.cache.clear(true)
			err = fault.New(fault.Internal, opDecode, "%w", llm.ErrNotFinite)
		}
		switch {
		case err != nil:
		case r.grammar != nil:
			t, err = r.allowed(ctx, t, pick)
		case r.result.Usage.Generated == 0 && r.vocab.ends(t):
			t, err = r.something(pick)
		}
		return t, err
	}
}

// something chooses a token that does not end the answer.
func (r *run) something(pick func([]float32) int32) (int32, error) {
	logits, err := r.cache.logits()
	if err != nil {
		return 0, err
	}
	for t, ends := range r.vocab.tokenTexts().ends {
		if ends {
			logits[t] = noChance()
		}
	}
	t := pick(logits)
	if t < 0 {
		return 0, fault.New(fault.Internal, opDecode, "every token of the model ends the answer")
	}
	return t, nil
}

// greedy is the best token; -1 if no score is finite.
func greedy(logits []float32) int32 {
	best, at := float32(math.Inf(-1)), int32(-1)
	for t, l := range logits {
		if l > best {
			best, at = l, int32(t)
		}
	}
	return at
}

func checkSampling(s percached.Sampling) error {
	switch {
	case s.Temperature < 0 || math.IsNaN(float64(s.Temperature)) || math.IsInf(float64(s.Temperature), 0):
		return invalid("temperature must be 0 or more, not %v", s.Temperature)
	case s.TopK < 0:
		return invalid("top-k must be 0 or more, not %d", s.TopK)
	case s.TopP < 0 || s.TopP > 1 || math.IsNaN(float64(s.TopP)):
		return invalid("top-p must be between 0 and 1, not %v", s.TopP)
	}
	return nil
}

// A sampler draws tokens: equal scores and seeds give equal draws.
type sampler struct {
	percached.Sampling
	rng  *rand.Rand
	cand []candidate
}

type candidate struct {
	token int32
	p     float64
}

func newSampler(s percached.Sampling) *sampler {
	return &sampler{Sampling: s, rng: rand.New(rand.NewPCG(s.Seed, 0x70657263616368))}
}

// draw picks a token by temperature, then top-k, then top-p; -1 if the scores are not
// finite.
func (s *sampler) draw(logits []float32) int32 {
	s.cand = s.cand[:0]
	best := float32(math.Inf(-1))
	for t, l := range logits {
		if math.IsNaN(float64(l)) {
			return -1
		}
		best = max(best, l)
		s.cand = append(s.cand, candidate{int32(t), float64(l)})
	}
	if math.IsInf(float64(best), 0) {
		return -1
	}
	c := s.cand
	if (s.TopK > 0 && s.TopK < len(c)) || (s.TopP > 0 && s.TopP < 1) {
		slices.SortFunc(c, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.p, a.p), cmp.Compare(a.token, b.token))
		})
	}
	if s.TopK > 0 && s.TopK < len(c) {
		c = c[:s.TopK]
	}
	sum := 0.0
	for i := range c {
		c[i].p = math.Exp((c[i].p - float64(best)) / float64(s.Temperature))
		sum += c[i].p
	}
	if s.TopP > 0 && s.TopP < 1 {
		kept := 0.0
		for i := range c {
			kept += c[i].p
			if kept >= float64(s.TopP)*sum {
				c, sum = c[:i+1], kept
				break
			}
		}
	}
	u := s.rng.Float64() * sum
	last := c[0].token
	for i := range c {
		if c[i].p > 0 {
			last = c[i].token
		}
		if u -= c[i].p; u < 0 {
			break
		}
	}
	return last
}
