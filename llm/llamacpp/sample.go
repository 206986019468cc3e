package llamacpp

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/percached/percached"
)

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

// A sampler draws tokens: the same scores and seed give the same draws.
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

// draw picks a token by temperature, then top-k, then top-p; -1 if the scores
// are not finite.
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
