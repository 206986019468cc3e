package report

import (
	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval/measure"
)

const (
	planesKV  = 2
	planesQKV = 3
	f16Bytes  = 2 // of a number, where the model does not tell
)

// shape is what a model's costs depend on.
type shape struct {
	measure.Shape
	bytesPerValue float64 // of stored tensors
}

// shapeOf is nil if the model's shape is not known.
func shapeOf(m *client.AboutModel) *shape {
	s := m.Shape
	if s.Layers == 0 || s.Width == 0 {
		return nil
	}
	out := &shape{measure.Shape{
		Layers: s.Layers, Width: s.Width, Heads: s.Heads, HeadsKV: s.HeadsKV, HeadSize: s.HeadSize,
		FeedForward: s.FeedForward, Vocabulary: s.Vocabulary,
	}, f16Bytes}
	if values := planesKV * s.Layers * s.HeadsKV * s.HeadSize; values > 0 && s.BytesPerToken > 0 {
		out.bytesPerValue = float64(s.BytesPerToken) / float64(values)
	}
	return out
}

// Compute is what the language model took for an answer, on average over all
// answers that came, in floating-point operations; stored answers took none.
type Compute struct {
	Of int `json:"of"` // answers, with repeats
	measure.FLOPs
	Total float64 `json:"total"`
	// WithIdle is the total with idle work spread over these answers; estimated. It is
	// absent if that cannot be reckoned.
	WithIdle *float64 `json:"estimated_total_with_idle,omitempty"`
}

// run is what an answer took.
func (s *shape) run(a *asking) measure.FLOPs {
	t := a.answer.Tokens
	return s.Run(t.Computed, t.Generated, t.Attended)
}

// compute is nil if the model's shape is not known.
func (b *book) compute(askings []asking, idle *IdleWork) *Compute {
	s := shapeOf(&b.run.Model)
	if s == nil {
		return nil
	}
	c := &Compute{}
	for i := range askings {
		if !askings[i].failed() {
			c.Of++
			c.FLOPs = c.Add(s.run(&askings[i]))
		}
	}
	if c.Of == 0 {
		return nil
	}
	n := float64(c.Of)
	c.FLOPs = measure.FLOPs{
		Projections: c.Projections / n, QKV: c.QKV / n, Attention: c.Attention / n, FeedForward: c.FeedForward / n, Head: c.Head / n,
	}
	c.Total = c.FLOPs.Total()
	if idle.FLOPs != nil {
		c.WithIdle = new(c.Total + *idle.FLOPs*float64(idle.Units)/n)
	}
	return c
}

// seen is how many tokens a token that was computed or generated could see, on
// average; 0 if nothing was.
func seen(askings []asking) float64 {
	attended, tokens := 0.0, 0.0
	for i := range askings {
		t := askings[i].answer.Tokens
		attended += float64(t.Attended)
		tokens += float64(t.Computed + t.Generated)
	}
	if tokens == 0 {
		return 0
	}
	return attended / tokens
}

// skipping is what a tensor hit would have come to with the paper's mechanism, which
// skips the projections to Q, K and V of reused tokens and nothing else.
type skipping struct {
	ms                 float64 // end to end
	ours, paper, cold  float64 // FLOPs
	bytes, bytesQKV    int64   // of the reused tokens' tensors
	coldMS, measuredMS float64
}

// skip estimates that from the prefill which the reference took for the same
// question; nil for what is no tensor hit, or where that prefill is not known.
func (s *shape) skip(a *asking) *skipping {
	if s == nil || a.failed() || a.answer.Outcome != client.OutcomeTensorHit || a.cold == nil || a.cold.Stages["prefill_ms"] == 0 {
		return nil
	}
	t, own := a.answer.Tokens, a.answer.Stages
	cold := s.Run(a.cold.Tokens.Computed, a.cold.Tokens.Generated, a.cold.Tokens.Attended)
	x := &skipping{
		ours: s.run(a).Total(), paper: cold.Total() - s.Run(t.Reused, 0, 0).QKV, cold: cold.Total(),
		bytes: s.SliceBytes(t.Reused, planesKV, s.bytesPerValue), bytesQKV: s.SliceBytes(t.Reused, planesQKV, s.bytesPerValue),
		coldMS: a.cold.TotalMS, measuredMS: a.answer.TotalMS,
	}
	load := own["load_tensors_ms"]
	more := load // with Q there is more to load
	if x.bytes > 0 {
		more *= float64(x.bytesQKV) / float64(x.bytes)
	}
	prefill := measure.PaperLatency(a.cold.Stages["prefill_ms"], more, cold.ShareQKV(), t.Reused, t.Prompt)
	x.ms = x.measuredMS - load - own["prefill_ms"] + prefill
	return x
}

// Paper is the paper's own mechanism beside ours, for the same tensor hits. What is
// of it is estimated.
type Paper struct {
	Hits int `json:"tensor_hits"` // questions, of which the reference's prefill is known
	// Means over them, end to end, in milliseconds.
	Ours float64 `json:"ours_ms"`
	QKV  float64 `json:"paper_ms"`
	Cold float64 `json:"cold_ms"`
	// Mean over all questions, with the estimate in place of those hits.
	All float64 `json:"all_paper_ms"`
	// Means over the hits.
	FLOPs     float64 `json:"ours_flops"`
	FLOPsQKV  float64 `json:"paper_flops"`
	FLOPsCold float64 `json:"cold_flops"`
	Bytes     float64 `json:"ours_bytes"`
	BytesQKV  float64 `json:"paper_bytes"`
}

// paper is nil if there are no such hits.
func paper(askings []asking) *Paper {
	mean := func(reduce func([]float64) float64, pick func(*skipping) float64) points {
		return gather(askings, func(a *asking) (float64, bool) {
			if a.paper == nil {
				return 0, false
			}
			return pick(a.paper), true
		}, reduce)
	}
	of := func(pick func(*skipping) float64) float64 { return measure.Mean(mean(measure.Mean, pick).values()) }
	ms := func(pick func(*skipping) float64) points { return mean(measure.Median, pick) }
	hits := ms(func(x *skipping) float64 { return x.ms })
	if len(hits.keys) == 0 {
		return nil
	}
	all := gather(askings, func(a *asking) (float64, bool) {
		if a.paper != nil {
			return a.paper.ms, true
		}
		return total(a)
	}, measure.Median)
	return &Paper{
		Hits: len(hits.keys), QKV: measure.Mean(hits.values()), All: measure.Mean(all.values()),
		Ours:  measure.Mean(ms(func(x *skipping) float64 { return x.measuredMS }).values()),
		Cold:  measure.Mean(ms(func(x *skipping) float64 { return x.coldMS }).values()),
		FLOPs: of(func(x *skipping) float64 { return x.ours }), FLOPsQKV: of(func(x *skipping) float64 { return x.paper }),
		FLOPsCold: of(func(x *skipping) float64 { return x.cold }),
		Bytes:     of(func(x *skipping) float64 { return float64(x.bytes) }), BytesQKV: of(func(x *skipping) float64 { return float64(x.bytesQKV) }),
	}
}
