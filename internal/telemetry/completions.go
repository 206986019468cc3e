package telemetry

import "github.com/prometheus/client_golang/prometheus"

// completions counts completed texts.
type completions struct {
	total                                prometheus.Counter
	reused, spliced, computed, generated prometheus.Counter // tokens
}

func newCompletions(to registrar) completions {
	tokens := to.counters("percached_completion_tokens_total", "Tokens of texts that were completed, and of their candidates, by source.", "source")
	return completions{
		total:     to.counter("percached_completions_total", "Texts that were completed while they were typed."),
		reused:    tokens.WithLabelValues("reused"),
		spliced:   tokens.WithLabelValues("spliced"),
		computed:  tokens.WithLabelValues("computed"),
		generated: tokens.WithLabelValues("generated"),
	}
}

// Completed counts a completed text with its tokens.
func (m *Metrics) Completed(reused, spliced, computed, generated int) {
	c := &m.typed
	c.total.Inc()
	add(c.reused, reused)
	add(c.spliced, spliced)
	add(c.computed, computed)
	add(c.generated, generated)
}
