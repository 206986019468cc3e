package telemetry

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A scrape over a socket returns the counted values.
func TestScrape(t *testing.T) {
	m := pedantic()
	before := scrape(t, m)
	busy(m)
	after := scrape(t, m)
	want := map[string]float64{
		`percached_http_requests_total{operation="ask",status="200"}`:                1,
		`percached_http_request_duration_seconds_count{class="2xx",operation="ask"}`: 1,
		`percached_http_request_duration_seconds_sum{class="2xx",operation="ask"}`:   0.03,
		`percached_answers_total{outcome="tensor_hit"}`:                              1,
		`percached_answer_duration_seconds_count{outcome="tensor_hit"}`:              1,
		`percached_answer_duration_seconds_sum{outcome="tensor_hit"}`:                0.04,
		`percached_answer_stage_duration_seconds_count{stage="prefill"}`:             1,
		`percached_answer_stage_duration_seconds_sum{stage="prefill"}`:               0.02,
		`percached_answers_refused_total`:                                            1,
		`percached_draft_tokens_total{result="accepted",source="stored"}`:            8,
		`percached_draft_tokens_total{result="rejected",source="stored"}`:            1,
		`percached_draft_tokens_total{result="rejected",source="prompt"}`:            4,
		`percached_gate_checked_total`:                                               2,
		`percached_gate_wrong_total`:                                                 1,
		`percached_gate_refusals_total{test="likeness"}`:                             2,
		`percached_gate_refusals_total{test="stale"}`:                                1,
		`percached_answer_tokens_total{source="reused"}`:                             500,
		`percached_answer_tokens_total{source="computed"}`:                           200,
		`percached_answer_tokens_total{source="generated"}`:                          12,
		`percached_completions_total`:                                                1,
		`percached_completion_tokens_total{source="reused"}`:                         40,
		`percached_completion_tokens_total{source="spliced"}`:                        30,
		`percached_completion_tokens_total{source="computed"}`:                       20,
		`percached_completion_tokens_total{source="generated"}`:                      10,
		`percached_answer_chunks_total{source="stored"}`:                             4,
		`percached_answer_chunks_total{source="computed"}`:                           1,
		`percached_prompt_tokens_count`:                                              1,
		`percached_prompt_tokens_sum`:                                                700,
		`percached_answer_saved_seconds_total{layer="tensors"}`:                      3,
		`percached_recent_hit_ratio{layer="bank"}`:                                   math.NaN(), // 0, which was NaN
		`percached_recent_hit_ratio{layer="tensors"}`:                                math.NaN(), // 0.8, which was NaN
		`percached_answer_failures_total{kind="not_found"}`:                          1,
		`percached_jobs_total{end="done",kind="decode"}`:                             1,
		`percached_idle_seconds_total{kind="decode"}`:                                2,
		`percached_job_tokens_total{kind="decode",source="computed"}`:                100,
		`percached_job_tokens_total{kind="decode",source="generated"}`:               50,
		`percached_job_written_bytes_total{kind="decode"}`:                           4096,
		`percached_layer_stored_total{layer="tensors"}`:                              3,
		`percached_layer_written_bytes_total{layer="tensors"}`:                       300,
		`percached_layer_evicted_total{layer="bank"}`:                                2,
		`percached_layer_evicted_bytes_total{layer="bank"}`:                          20,
		`percached_layer_damaged_total{layer="knowledge"}`:                           1,
		`percached_expired_total{what="turns"}`:                                      4,
		`percached_idle_joules_total{kind="decode"}`:                                 25,
		`percached_questions_measured_total`:                                         1,
		`percached_question_joules_total`:                                            2.5,
		`percached_documents_forgotten_total`:                                        7,
		`percached_uploads_total{state="done"}`:                                      1,
		`percached_engine_restarts_total`:                                            1,
		`percached_engine_cancelled_total`:                                           1,
		`percached_http_connections_dropped_total`:                                   1,
		`percached_state_up`:                                                         1,
		`percached_layer_bytes{layer="tensors"}`:                                     100,
		`percached_layer_bytes{layer="bank"}`:                                        10,
		`percached_layer_bytes{layer="disk"}`:                                        120,
		`percached_layer_bytes{layer="memory"}`:                                      30,
		`percached_layer_limit_bytes{layer="tensors"}`:                               1000,
		`percached_layer_limit_bytes{layer="bank"}`:                                  50,
		`percached_layer_limit_bytes{layer="disk"}`:                                  1200,
		`percached_layer_limit_bytes{layer="memory"}`:                                40,
		`percached_slices`:                                9,
		`percached_entries`:                               8,
		`percached_entries_answered`:                      7,
		`percached_entries_stale`:                         6,
		`percached_spaces`:                                2,
		`percached_documents`:                             30,
		`percached_chunks`:                                90,
		`percached_queue_jobs{kind="answer"}`:             4,
		`percached_queue_jobs{kind="decode"}`:             1,
		`percached_queue_parked_jobs`:                     3,
		`percached_idle_state{state="waiting"}`:           1,
		`percached_ledger_spent_seconds{kind="populate"}`: 60,
		`percached_ledger_saved_seconds{kind="populate"}`: 6,
		`percached_uploads_waiting`:                       5,
		`percached_engine_waiting_questions`:              11,
		`percached_event_listeners`:                       12,
		`percached_backup_lag_seconds`:                    90,
		`percached_backup_failures_total`:                 2,
	}
	got := grown(before, after)
	for name, v := range got { // what is zero and was not there is no news
		if v == 0 {
			delete(got, name)
		}
	}
	if d := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-9)); d != "" {
		t.Error(d)
	}
	if v := after.values[`percached_recent_hit_ratio{layer="tensors"}`]; v != 0.8 {
		t.Errorf("4 of 5 chunks were stored, and the ratio is %v", v)
	}
}

// A client gets OpenMetrics and gzip if it accepts them.
func TestFormats(t *testing.T) {
	m := pedantic()
	busy(m)
	url := serve(t, m)
	body, kind := get(t, url, "application/openmetrics-text;version=1.0.0")
	if !strings.HasPrefix(kind, "application/openmetrics-text") || !strings.HasSuffix(body, "\n# EOF\n") {
		t.Errorf("%s, ending in %q", kind, body[max(0, len(body)-20):])
	}
	if !strings.Contains(body, "\npercached_answers_total{outcome=\"tensor_hit\"} 1.0\n") {
		t.Error("the counter of answers is missing")
	}
	body, kind = get(t, url, "text/plain;version=0.0.4")
	if !strings.HasPrefix(kind, "text/plain") || strings.Contains(body, "# EOF") {
		t.Errorf("%s", kind)
	}
	if s := parse(t, body); s.kinds["go_goroutines"] == "" || s.kinds["process_cpu_seconds_total"] == "" {
		t.Error("Go's runtime or the process is missing")
	}
}

// Durations are counted in buckets from 0.1 ms to a minute.
func TestBuckets(t *testing.T) {
	m := New()
	for _, took := range []time.Duration{0, 100 * time.Microsecond, 100*time.Microsecond + 1, 3 * time.Millisecond, time.Minute, time.Hour} {
		m.Answer(Answer{Outcome: "miss", Total: took})
	}
	got := scrape(t, m).upto[`percached_answer_duration_seconds{outcome="miss"}`]
	for upto, want := range map[float64]uint64{0.0001: 2, 0.0002: 3, 0.002: 3, 0.005: 4, 30: 4, 60: 5, math.Inf(1): 6} {
		if got[upto] != want {
			t.Errorf("%d answers within %v s, want %d", got[upto], upto, want)
		}
	}
	for name, h := range scrape(t, m).upto {
		if strings.Contains(name, "_seconds") && strings.HasPrefix(name, "percached_") && len(h) != len(got) {
			t.Errorf("%s has %d buckets", name, len(h))
		}
	}
}
