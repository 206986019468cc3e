package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Answer is what there is to count of an answered question.
type Answer struct {
	Outcome string  // answer_hit, tensor_hit, miss
	Refused bool    // it says that the documents do not say
	Stages  []Stage // what took no time did not take place
	Total   time.Duration
	// Tokens of the prompt, of which some were reused, and of the answer.
	Prompt, Reused, Computed, Generated int
	// Chunks of the prompt, and how many of their tensors were stored.
	ChunksStored, ChunksAll int
	// GateRefusals has for each stored answer that the gate held back the name of
	// the first test that failed.
	GateRefusals []string
	// Saved is how much longer it would have taken without anything stored.
	Saved time.Duration
}

// Stage is a stage of an answer, and how long it took.
type Stage struct {
	Name string
	Took time.Duration
}

const answerHit = "answer_hit"

// answers counts questions. All series are made beforehand, so that counting
// looks nothing up under a lock.
type answers struct {
	total    by[prometheus.Counter]
	took     by[prometheus.Observer]
	stages   by[prometheus.Observer]
	refusals by[prometheus.Counter]
	saved    by[prometheus.Counter]
	failures by[prometheus.Counter]
	refused  prometheus.Counter
	prompt   prometheus.Observer

	reused, computed, generated  prometheus.Counter // tokens
	chunksStored, chunksComputed prometheus.Counter

	recent *recent
}

func newAnswers(to maker) answers {
	total := to.counters("percached_answers_total", "Questions that were answered.", "outcome")
	took := to.histograms("percached_answer_duration_seconds", "How long answers took.", buckets(), "outcome")
	steps := to.histograms("percached_answer_stage_duration_seconds", "How long the stages of answers took, where they took place.", buckets(), "stage")
	refusals := to.counters("percached_gate_refusals_total", "Stored answers that the gate held back, by the first test that failed.", "test")
	saved := to.counters("percached_answer_saved_seconds_total", "How much longer answers would have taken without what was stored.", "layer")
	failures := to.counters("percached_answer_failures_total", "Questions that got no answer.", "kind")
	tokens := to.counters("percached_answer_tokens_total", "Tokens of prompts that were reused or computed, and of answers that were generated.", "source")
	chunks := to.counters("percached_answer_chunks_total", "Chunks in prompts, by where their tensors came from.", "source")
	prompt := to.histograms("percached_prompt_tokens", "How long prompts were.", []float64{64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384})
	a := answers{
		total:          each(outcomes, func(w string) prometheus.Counter { return total.WithLabelValues(w) }),
		took:           each(outcomes, func(w string) prometheus.Observer { return took.WithLabelValues(w) }),
		stages:         each(stages, func(w string) prometheus.Observer { return steps.WithLabelValues(w) }),
		refusals:       each(gateTests, func(w string) prometheus.Counter { return refusals.WithLabelValues(w) }),
		failures:       each(faultKinds(), func(w string) prometheus.Counter { return failures.WithLabelValues(w) }),
		saved:          by[prometheus.Counter]{},
		refused:        to.counter("percached_answers_refused_total", "Answers that say that the documents do not say."),
		prompt:         prompt.WithLabelValues(),
		reused:         tokens.WithLabelValues("reused"),
		computed:       tokens.WithLabelValues("computed"),
		generated:      tokens.WithLabelValues("generated"),
		chunksStored:   chunks.WithLabelValues("stored"),
		chunksComputed: chunks.WithLabelValues("computed"),
		recent:         newRecent(to),
	}
	for _, w := range caches {
		a.saved[w] = saved.WithLabelValues(w)
	}
	return a
}

// Answer counts that a question was answered.
func (m *Metrics) Answer(said Answer) {
	a := &m.answers
	a.total.of(said.Outcome).Inc()
	observe(a.took.of(said.Outcome), said.Total)
	if said.Refused {
		a.refused.Inc()
	}
	for _, s := range said.Stages {
		if s.Took > 0 && s.Name != "total" { // which is counted by outcome
			observe(a.stages.of(s.Name), s.Took)
		}
	}
	if said.Prompt > 0 {
		a.prompt.Observe(float64(said.Prompt))
	}
	add(a.reused, said.Reused)
	add(a.computed, said.Computed)
	add(a.generated, said.Generated)
	chunks := max(0, said.ChunksAll)
	stored := min(max(0, said.ChunksStored), chunks)
	add(a.chunksStored, stored)
	add(a.chunksComputed, chunks-stored)
	for _, test := range said.GateRefusals {
		a.refusals.of(test).Inc()
	}
	hit := said.Outcome == answerHit
	if hit {
		addTime(a.saved["bank"], said.Saved)
	} else {
		addTime(a.saved["tensors"], said.Saved)
	}
	a.recent.add(hit, stored, chunks)
}

// AnswerFailed counts that a question got no answer, by the kind of error as
// internal/base/fault calls it.
func (m *Metrics) AnswerFailed(kind string) { m.answers.failures.of(faultKind(kind)).Inc() }
