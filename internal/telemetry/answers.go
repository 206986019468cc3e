package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Answer holds the figures of one answered question.
type Answer struct {
	Outcome string  // answer_hit, verified_hit, tensor_hit, miss
	Refused bool    // the answer says that the documents do not contain it
	Stages  []Stage // a stage of no duration did not occur
	Total   time.Duration
	// Prompt tokens, of which some were reused, and generated tokens.
	Prompt, Reused, Computed, Generated int
	// Chunks of the prompt with stored tensors, and all of them.
	ChunksStored, ChunksAll int
	// GateRefusals names the first failed test of each stored answer that the gate refused.
	GateRefusals []string
	// Drafts counts the tokens of drafts by source.
	Drafts []Drafted
	// OtherWords says that the question had other words than that of the served entry.
	OtherWords bool
	// Saved is how much longer the answer would have taken without stored data.
	Saved time.Duration
}

// Drafted counts the tokens that drafts of a source proposed, and those that the model accepted.
type Drafted struct {
	Source             string
	Proposed, Accepted int
}

// Stage is a stage of an answer with its duration.
type Stage struct {
	Name string
	Took time.Duration
}

const answerHit = "answer_hit"

// answers counts questions. All series are created in advance, so that counting needs no lookup
// under a lock.
type answers struct {
	total              byLabel[prometheus.Counter]
	took               byLabel[prometheus.Observer]
	stages             byLabel[prometheus.Observer]
	refusals           byLabel[prometheus.Counter]
	saved              byLabel[prometheus.Counter]
	failures           byLabel[prometheus.Counter]
	refused            prometheus.Counter
	accepted, rejected byLabel[prometheus.Counter] // tokens of drafts

	// Answers that were served for a question in other words, and their checks.
	served, checked, wrong prometheus.Counter
	prompt                 prometheus.Observer

	reused, computed, generated  prometheus.Counter // tokens
	chunksStored, chunksComputed prometheus.Counter

	recent *recent
}

func newAnswers(to registrar) answers {
	total := to.counters("percached_answers_total", "Answered questions.", "outcome")
	took := to.histograms("percached_answer_duration_seconds", "Duration of answers.", buckets(), "outcome")
	steps := to.histograms("percached_answer_stage_duration_seconds", "Duration of the stages of answers.", buckets(), "stage")
	refusals := to.counters("percached_gate_refusals_total", "Stored answers refused by the gate, by the first failed test.", "test")
	saved := to.counters("percached_answer_saved_seconds_total", "Estimated time saved by stored data.", "layer")
	failures := to.counters("percached_answer_failures_total", "Questions without an answer, by kind of error.", "kind")
	tokens := to.counters("percached_answer_tokens_total", "Reused and computed prompt tokens, and generated tokens.", "source")
	chunks := to.counters("percached_answer_chunks_total", "Chunks in prompts, by the source of their tensors.", "source")
	drafts := to.counters("percached_draft_tokens_total", "Tokens of drafts that the model checked.", "source", "result")
	drafted := func(result string) byLabel[prometheus.Counter] {
		return forLabels(draftSources, func(w string) prometheus.Counter { return drafts.WithLabelValues(w, result) })
	}
	prompt := to.histograms("percached_prompt_tokens", "Length of prompts in tokens.", []float64{64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384})
	a := answers{
		total:          forLabels(outcomes, func(w string) prometheus.Counter { return total.WithLabelValues(w) }),
		took:           forLabels(outcomes, func(w string) prometheus.Observer { return took.WithLabelValues(w) }),
		stages:         forLabels(stages, func(w string) prometheus.Observer { return steps.WithLabelValues(w) }),
		refusals:       forLabels(gateTests, func(w string) prometheus.Counter { return refusals.WithLabelValues(w) }),
		failures:       forLabels(faultKinds(), func(w string) prometheus.Counter { return failures.WithLabelValues(w) }),
		saved:          byLabel[prometheus.Counter]{},
		refused:        to.counter("percached_answers_refused_total", "Answers that say that the documents do not contain the answer."),
		accepted:       drafted("accepted"),
		rejected:       drafted("rejected"),
		served:         to.counter("percached_gate_served_total", "Stored answers served for a question in other words."),
		checked:        to.counter("percached_gate_checked_total", "Stored answers served for a question in other words that were compared with a fresh answer."),
		wrong:          to.counter("percached_gate_wrong_total", "Checked answers that differed from the fresh answer."),
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

// Answer counts an answered question.
func (m *Metrics) Answer(said Answer) {
	a := &m.answers
	a.total.of(said.Outcome).Inc()
	observe(a.took.of(said.Outcome), said.Total)
	if said.Refused {
		a.refused.Inc()
	}
	for _, s := range said.Stages {
		if s.Took > 0 && s.Name != "total" { // counted by outcome
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
	for _, d := range said.Drafts {
		add(a.accepted.of(d.Source), d.Accepted)
		add(a.rejected.of(d.Source), d.Proposed-d.Accepted)
	}
	hit := said.Outcome == answerHit
	if hit && said.OtherWords {
		a.served.Inc()
	}
	if hit {
		addTime(a.saved["bank"], said.Saved)
	} else {
		addTime(a.saved["tensors"], said.Saved)
	}
	a.recent.add(hit, stored, chunks)
}

// GateChecked counts a served answer that was compared with a fresh one.
func (m *Metrics) GateChecked(right bool) {
	m.answers.checked.Inc()
	if !right {
		m.answers.wrong.Inc()
	}
}

// AnswerFailed counts a question without an answer. kind is a kind of internal/base/fault.
func (m *Metrics) AnswerFailed(kind string) { m.answers.failures.of(faultKind(kind)).Inc() }

// recentAnswers is how many answers the hit ratios cover.
const recentAnswers = 1000

// recent holds the hits of each layer for the latest answers.
type recent struct {
	mu    sync.Mutex
	ring  [recentAnswers][2]share
	asked uint64
	sum   [2]share
}

// share counts the hits and lookups of a layer.
type share struct{ had, wanted int }

// The layers of recent, in the order of caches.
const (
	inBank = iota
	inTensors
)

func newRecent(to registrar) *recent {
	r := &recent{}
	for i, layer := range caches {
		to.in.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "percached_recent_hit_ratio",
			Help:        "Share of the latest 1,000 answers that came from the bank, and share of their prompts' chunks with stored tensors; NaN without data.",
			ConstLabels: prometheus.Labels{"layer": layer},
		}, func() float64 { return r.ratio(i) }))
	}
	return r
}

// add counts an answer: whether it came from the bank, and how many of its prompt's chunks had
// stored tensors.
func (r *recent) add(hit bool, stored, all int) {
	now := [2]share{inBank: {wanted: 1}, inTensors: {had: stored, wanted: all}}
	if hit {
		now[inBank].had = 1
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := &r.ring[r.asked%recentAnswers]
	for i := range now {
		r.sum[i].had += now[i].had - old[i].had
		r.sum[i].wanted += now[i].wanted - old[i].wanted
	}
	*old = now
	r.asked++
}

// ratio returns hits by lookups; NaN without lookups.
func (r *recent) ratio(layer int) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return float64(r.sum[layer].had) / float64(r.sum[layer].wanted)
}
