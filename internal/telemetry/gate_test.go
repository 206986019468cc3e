package telemetry

import (
	"log/slog"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
)

// The gate's counters count what was served for other words. A verified hit is computed, so it
// is none of them, and its savings are those of tensors.
func TestGateCounters(t *testing.T) {
	m := pedantic()
	r := &Recorder{
		Metrics: m, Events: &api.EventBus{}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		IDs: func(string) (percached.PublicIDs, error) { return percached.PublicIDs{}, nil },
	}
	refused := answer.Considered{}
	other, exact := answer.Considered{Served: true}, answer.Considered{Served: true, Exact: true}
	for _, a := range []answer.Answer{
		{Outcome: answer.AnswerHit, Gate: answer.Gate{Considered: []answer.Considered{refused, other}}},
		{Outcome: answer.AnswerHit, Gate: answer.Gate{Considered: []answer.Considered{exact}}},
		{
			Outcome: answer.VerifiedHit, Gate: answer.Gate{Considered: []answer.Considered{refused}}, Tokens: answer.Tokens{Prompt: 30, Reused: 20, Computed: 10, Generated: 5},
			Drafts: []percached.DraftUse{{Source: percached.DraftNear, Batches: 1, Proposed: 5, Accepted: 4}},
		},
		{Outcome: answer.TensorHit, Gate: answer.Gate{Considered: []answer.Considered{refused}}},
	} {
		r.Asked("s", "?")(a, nil)
	}
	r.Checked("s", true)
	r.Checked("s", false)
	s := scrape(t, m)
	for name, want := range map[string]float64{
		"percached_gate_served_total": 1, "percached_gate_checked_total": 2, "percached_gate_wrong_total": 1,
		`percached_answers_total{outcome="verified_hit"}`: 1, `percached_answer_duration_seconds_count{outcome="verified_hit"}`: 1,
		`percached_recent_hit_ratio{layer="bank"}`: 0.5, `percached_answer_tokens_total{source="generated"}`: 5,
		`percached_answer_tokens_total{source="reused"}`: 20, `percached_draft_tokens_total{result="accepted",source="near"}`: 4,
	} {
		if got := s.values[name]; got != want {
			t.Errorf("%s is %v, not %v", name, got, want)
		}
	}
	if q := r.Questions(); q.AnswerHits != 2 || q.VerifiedHits != 1 || q.TensorHits != 1 {
		t.Errorf("%+v", q)
	}
}
