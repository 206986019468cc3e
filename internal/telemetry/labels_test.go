package telemetry

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The operations are those of the routes. Tests of the daemon compare the other tables with
// their packages.
func TestOperations(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/routes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var routed []string
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || lit.Type != nil || len(lit.Elts) < 3 { // a route in the table stands without its type
			return true
		}
		if op, ok := lit.Elts[0].(*ast.BasicLit); ok && op.Kind == token.STRING {
			name, err := strconv.Unquote(op.Value)
			if err != nil {
				t.Fatal(err)
			}
			routed = append(routed, name)
		}
		return true
	})
	known := slices.Clone(operations)
	slices.Sort(routed)
	slices.Sort(known)
	if d := cmp.Diff(routed, known); d != "" {
		t.Errorf("routed and known operations: %s", d)
	}
}

// hostile are words that must not appear in a label.
func hostile() []string {
	return []string{
		"", " ", "MISS", "miss ", "miss\n", "miss\x00", "\"miss\"", `miss",space="mail`, "\xff\xfe", "percached_", "Where did Anna leave her passport?",
		"/v1/spaces/anna/ask", "{}", "__name__", strings.Repeat("x", 1<<20), "\u202etxet", "ok\r\n# HELP injected x", "reembed/anna", "200 OK",
	}
}

// The set of series never changes, and unknown words are counted as other.
func TestHostileWords(t *testing.T) {
	m := pedantic()
	busy(m)
	m.Request("ask", 777, 0)
	m.Request("", 200, 0)
	m.Request("nonsense", 200, 0)
	tell := func(w string) {
		m.Request(w, 200, time.Second)
		m.Answer(Answer{Outcome: w, Stages: []Stage{{w, time.Second}}, GateRefusals: []string{w, w}})
		m.AnswerFailed(w)
		m.Job(w, w, time.Second, 1, 1, 1)
		m.JobEnergy(w, 1)
		m.Job("decode", w, time.Second, 1, 1, 1)
		m.Stored(w, 1, 1)
		m.Evicted(w, 1, 1)
		m.Expired(w, 1)
		m.Damaged(w)
		m.Upload(w)
	}
	before := scrape(t, m)
	words := hostile()
	for _, w := range words {
		tell(w)
	}
	for _, code := range []int{math.MinInt, -1, 0, 1, 99, 299, 600, 999, math.MaxInt} {
		m.Request("ask", code, 0)
	}
	m.WatchState(func() (State, error) {
		s := standing()
		s.Queue, s.Ledger = map[string]int{"decode": 1}, map[string]Account{"decode": {1, 1}}
		for _, w := range words {
			s.Queue[w], s.Ledger[w], s.Idle = 2, Account{3, 4}, w
		}
		return s, nil
	})
	text, _ := get(t, serve(t, m), "text/plain")
	after := parse(t, text)
	for name := range after.values {
		if _, ok := before.values[name]; !ok && strings.HasPrefix(name, "percached_") {
			t.Errorf("a new series: %.200s", name)
		}
	}
	for _, w := range words {
		if len(w) > 10 && strings.Contains(text, w) {
			t.Errorf("the scrape has %.60q", w)
		}
	}
	n := float64(len(words))
	got := map[string]float64{}
	for name, v := range grown(before, after) {
		if strings.Contains(name, `"other"`) && !strings.HasSuffix(name, "_sum") && !strings.Contains(name, "_sum{") {
			got[name] = v
		}
	}
	want := map[string]float64{
		`percached_http_requests_total{operation="other",status="200"}`:                n - 1, // the empty one is none
		`percached_http_requests_total{operation="ask",status="other"}`:                9,
		`percached_http_request_duration_seconds_count{class="2xx",operation="other"}`: n - 1,
		`percached_http_request_duration_seconds_count{class="other",operation="ask"}`: 9,
		`percached_answers_total{outcome="other"}`:                                     n,
		`percached_answer_duration_seconds_count{outcome="other"}`:                     n,
		`percached_answer_stage_duration_seconds_count{stage="other"}`:                 n,
		`percached_gate_refusals_total{test="other"}`:                                  2 * n,
		`percached_answer_failures_total{kind="other"}`:                                n,
		`percached_jobs_total{end="other",kind="other"}`:                               n,
		`percached_jobs_total{end="other",kind="decode"}`:                              n,
		`percached_idle_seconds_total{kind="other"}`:                                   n,
		`percached_job_tokens_total{kind="other",source="computed"}`:                   n,
		`percached_job_tokens_total{kind="other",source="generated"}`:                  n,
		`percached_job_written_bytes_total{kind="other"}`:                              n,
		`percached_layer_stored_total{layer="other"}`:                                  n,
		`percached_layer_written_bytes_total{layer="other"}`:                           n,
		`percached_layer_evicted_total{layer="other"}`:                                 n,
		`percached_layer_evicted_bytes_total{layer="other"}`:                           n,
		`percached_layer_damaged_total{layer="other"}`:                                 n,
		`percached_idle_joules_total{kind="other"}`:                                    n,
		`percached_uploads_total{state="other"}`:                                       n,
		`percached_expired_total{what="other"}`:                                        n,
		`percached_queue_jobs{kind="other"}`:                                           2 * n,
		`percached_ledger_spent_seconds{kind="other"}`:                                 3 * n,
		`percached_ledger_saved_seconds{kind="other"}`:                                 4 * n,
		`percached_idle_state{state="other"}`:                                          1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// No input makes a counter decrease or fail.
func TestHostileNumbers(t *testing.T) {
	m := pedantic()
	busy(m)
	before := scrape(t, m)
	const low = math.MinInt
	m.Request("ask", 200, low)
	m.Answer(Answer{
		Outcome: "miss", Stages: []Stage{{"prefill", low}}, Total: low, Prompt: low, Reused: low, Computed: low, Generated: low,
		ChunksStored: low, ChunksAll: low, Saved: low,
	})
	m.Answer(Answer{Outcome: "miss", ChunksStored: 9, ChunksAll: 2})
	m.Job("decode", "done", low, low, low, low)
	m.Stored("bank", low, low)
	m.Evicted("bank", low, low)
	m.Forgotten(low)
	after := scrape(t, m)
	for name, d := range grown(before, after) {
		if d < 0 && !strings.HasPrefix(name, "percached_recent") {
			t.Errorf("%s fell by %v", name, -d)
		}
	}
	if d := after.values[`percached_answer_chunks_total{source="stored"}`] - before.values[`percached_answer_chunks_total{source="stored"}`]; d != 2 {
		t.Errorf("%v of 2 chunks are stored", d)
	}
	if r := after.values[`percached_recent_hit_ratio{layer="tensors"}`]; r != 6.0/7 {
		t.Errorf("the ratio is %v", r)
	}
}
