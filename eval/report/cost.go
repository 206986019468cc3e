package report

import (
	"cmp"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

const (
	planesKV  = 2
	planesQKV = 3
	f16Bytes  = 2 // of a number, if the model does not say
)

// shape is what the cost of a model depends on.
type shape struct {
	measure.Shape
	bytesPerValue float64 // in stored tensors
}

// shapeOf is nil if the model's shape is unknown.
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

// Compute is the mean cost of an answer in floating-point operations, over all answers. A
// stored answer costs none.
type Compute struct {
	Of int `json:"of"` // answers, with repeats
	measure.FLOPs
	Total float64 `json:"total"`
	// WithIdle is the total with idle work spread over the answers. It is an estimate, and
	// absent if it is unknown.
	WithIdle *float64 `json:"estimated_total_with_idle,omitempty"`
}

// run is the cost of an answer.
func (s *shape) run(a *response) measure.FLOPs {
	t := a.answer.Tokens
	return s.Run(t.Computed, t.Generated, t.Attended)
}

// compute is nil if the model's shape is unknown.
func (data *runData) compute(responses []response, idle *IdleWork) *Compute {
	s := shapeOf(&data.run.Model)
	if s == nil {
		return nil
	}
	c := &Compute{}
	for i := range responses {
		if !responses[i].failed() {
			c.Of++
			c.FLOPs = c.Add(s.run(&responses[i]))
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

// attendedPerToken is the mean number of tokens that a computed or generated token attends
// to; 0 if there is none.
func attendedPerToken(responses []response) float64 {
	attended, tokens := 0.0, 0.0
	for i := range responses {
		t := responses[i].answer.Tokens
		attended += float64(t.Attended)
		tokens += float64(t.Computed + t.Generated)
	}
	if tokens == 0 {
		return 0
	}
	return attended / tokens
}

// paperEstimate is what a tensor hit would cost with the paper's mechanism. That mechanism
// skips only the projections to Q, K and V of reused tokens.
type paperEstimate struct {
	ms                 float64 // end to end
	ours, paper, cold  float64 // FLOPs
	bytes, bytesQKV    int64   // of the reused tokens' tensors
	coldMS, measuredMS float64
}

// estimatePaper estimates from the reference's prefill of the same question. It is nil if
// the response is not a tensor hit, or if that prefill is unknown.
func (s *shape) estimatePaper(a *response) *paperEstimate {
	if s == nil || a.failed() || a.answer.Outcome != client.OutcomeTensorHit || a.uncached == nil || a.uncached.Stages["prefill_ms"] == 0 {
		return nil
	}
	t, own := a.answer.Tokens, a.answer.Stages
	cold := s.Run(a.uncached.Tokens.Computed, a.uncached.Tokens.Generated, a.uncached.Tokens.Attended)
	x := &paperEstimate{
		ours: s.run(a).Total(), paper: cold.Total() - s.Run(t.Reused, 0, 0).QKV, cold: cold.Total(),
		bytes: s.SliceBytes(t.Reused, planesKV, s.bytesPerValue), bytesQKV: s.SliceBytes(t.Reused, planesQKV, s.bytesPerValue),
		coldMS: a.uncached.TotalMS, measuredMS: a.answer.TotalMS,
	}
	load := own["load_tensors_ms"]
	more := load // with Q, more bytes are loaded
	if x.bytes > 0 {
		more *= float64(x.bytesQKV) / float64(x.bytes)
	}
	prefill := measure.PaperLatency(a.uncached.Stages["prefill_ms"], more, cold.ShareQKV(), t.Reused, t.Prompt)
	x.ms = x.measuredMS - load - own["prefill_ms"] + prefill
	return x
}

// Paper compares the paper's mechanism, which is estimated, with ours for the same tensor
// hits.
type Paper struct {
	Hits int `json:"tensor_hits"` // questions whose reference prefill is known
	// Means over the hits, end to end, in milliseconds.
	Ours float64 `json:"ours_ms"`
	QKV  float64 `json:"paper_ms"`
	Cold float64 `json:"cold_ms"`
	// Mean over all questions, with the estimate for those hits.
	All float64 `json:"all_paper_ms"`
	// Means over the hits.
	FLOPs     float64 `json:"ours_flops"`
	FLOPsQKV  float64 `json:"paper_flops"`
	FLOPsCold float64 `json:"cold_flops"`
	Bytes     float64 `json:"ours_bytes"`
	BytesQKV  float64 `json:"paper_bytes"`
}

// paper is nil if there are no such hits.
func paper(responses []response) *Paper {
	mean := func(reduce func([]float64) float64, pick func(*paperEstimate) float64) perQuestion {
		return reduceRepeats(responses, func(a *response) (float64, bool) {
			if a.paper == nil {
				return 0, false
			}
			return pick(a.paper), true
		}, reduce)
	}
	of := func(pick func(*paperEstimate) float64) float64 {
		return measure.Mean(mean(measure.Mean, pick).values())
	}
	ms := func(pick func(*paperEstimate) float64) perQuestion { return mean(measure.Median, pick) }
	hits := ms(func(x *paperEstimate) float64 { return x.ms })
	if len(hits.keys) == 0 {
		return nil
	}
	all := reduceRepeats(responses, func(a *response) (float64, bool) {
		if a.paper != nil {
			return a.paper.ms, true
		}
		return latency(a)
	}, measure.Median)
	return &Paper{
		Hits: len(hits.keys), QKV: measure.Mean(hits.values()), All: measure.Mean(all.values()),
		Ours:  measure.Mean(ms(func(x *paperEstimate) float64 { return x.measuredMS }).values()),
		Cold:  measure.Mean(ms(func(x *paperEstimate) float64 { return x.coldMS }).values()),
		FLOPs: of(func(x *paperEstimate) float64 { return x.ours }), FLOPsQKV: of(func(x *paperEstimate) float64 { return x.paper }),
		FLOPsCold: of(func(x *paperEstimate) float64 { return x.cold }),
		Bytes:     of(func(x *paperEstimate) float64 { return float64(x.bytes) }), BytesQKV: of(func(x *paperEstimate) float64 { return float64(x.bytesQKV) }),
	}
}

// IdleWork is the mean idle work per user, for questions asked once.
type IdleWork struct {
	Units  int     `json:"units"` // number of units in the mean
	Before Effort  `json:"before"`
	After  Effort  `json:"after"`
	Kinds  []Kind  `json:"kinds"`  // of jobs, before and after the questions
	Tokens float64 `json:"tokens"` // computed and generated, before and after
	// FLOPs are estimated: each idle token is assumed to attend to as many tokens as in
	// the reference's answers.
	FLOPs  *float64 `json:"estimated_flops,omitempty"`
	Joules *float64 `json:"joules,omitempty"` // if the machine reports them
}

// Effort is some idle work.
type Effort struct {
	Seconds      float64 `json:"seconds"`
	Computed     float64 `json:"computed_tokens"`
	Generated    float64 `json:"generated_tokens"`
	BytesWritten float64 `json:"bytes_written"`
	Failed       float64 `json:"failed"` // attempts
}

// Kind sums up the jobs of one kind.
type Kind struct {
	Kind   string  `json:"kind"`
	Done   float64 `json:"done"`   // jobs
	Tokens float64 `json:"tokens"` // computed and generated
}

func (e *Effort) add(w *eval.Work, n float64) {
	e.Seconds += w.Seconds / n
	e.Computed += float64(w.Computed) / n
	e.Generated += float64(w.Generated) / n
	e.BytesWritten += float64(w.BytesWritten) / n
	e.Failed += float64(w.Failed) / n
}

// results are the results of a system; an empty user means all.
func (data *runData) results(s *eval.System, user string) (all []*eval.Result) {
	for _, u := range data.units {
		if r := resultOf(u, s.Name); r != nil && (user == "" || u.User == user) {
			all = append(all, r)
		}
	}
	return all
}

// idle sums up idle work.
func (data *runData) idle(s *eval.System, user string) (w IdleWork) {
	results := data.results(s, user)
	w.Units = len(results)
	n, joules := float64(w.Units), 0.0
	computed, generated := 0, 0
	kinds := map[string]Kind{}
	add := func(to *Effort, done *eval.Work) {
		to.add(done, n)
		computed, generated = computed+done.Computed, generated+done.Generated
		for i := range done.Kinds {
			k := &done.Kinds[i]
			sum := kinds[string(k.Kind)]
			kinds[string(k.Kind)] = Kind{string(k.Kind), sum.Done + float64(k.Done), sum.Tokens + float64(k.ComputedTokens+k.GeneratedTokens)}
		}
	}
	for _, r := range results {
		add(&w.Before, &r.Before)
		for i := range r.Answers {
			add(&w.After, &r.Answers[i].After)
		}
		joules += r.Joules / n
	}
	w.Kinds = []Kind{}
	for _, name := range sortedKeys(kinds) {
		k := kinds[name]
		w.Kinds = append(w.Kinds, Kind{name, k.Done / n, k.Tokens / n})
	}
	if joules > 0 {
		w.Joules = &joules
	}
	tokens := float64(computed + generated)
	if n > 0 {
		w.Tokens = tokens / n
	}
	if flops, known := data.idleFLOPs(s.Reference, s.Name, computed, generated); known && n > 0 {
		flops /= n
		w.FLOPs = &flops
	}
	return w
}

// idleFLOPs estimates the FLOPs of a system's idle work. Each token is assumed to attend
// to as many tokens as in the reference's answers.
func (data *runData) idleFLOPs(reference, system string, computed, generated int) (flops float64, known bool) {
	tokens, shape := float64(computed+generated), shapeOf(&data.run.Model)
	attended := cmp.Or(data.attended[reference], data.attended[system])
	if shape == nil || attended == 0 && tokens > 0 {
		return 0, false
	}
	return shape.Run(computed, generated, int64(attended*tokens)).Total(), true
}

// Storage is the mean storage per user at the end, and what was written, for questions
// asked once.
type Storage struct {
	TensorBytes float64 `json:"tensor_bytes"`
	Most        int64   `json:"most_tensor_bytes"` // at any time, in any unit
	Slices      float64 `json:"slices"`
	Entries     float64 `json:"entries"`
	Evicted     float64 `json:"evicted"`
	Written     float64 `json:"written_bytes"` // by questions; idle work is counted in Effort
}

// storage sums up what is stored.
func (data *runData) storage(s *eval.System, user string) (st Storage) {
	results := data.results(s, user)
	n := float64(len(results))
	for _, r := range results {
		st.TensorBytes += float64(r.TensorBytes) / n
		st.Slices += float64(r.Slices) / n
		st.Entries += float64(r.Entries) / n
		st.Evicted += float64(r.Evicted) / n
		st.Most = max(st.Most, r.TensorBytes)
		for i := range r.Answers {
			st.Written += float64(r.Answers[i].Written) / n
			st.Most = max(st.Most, r.Answers[i].TensorBytes)
		}
	}
	return st
}
