package telemetry

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// kept says whether a scrape has the metrics that do not come from the state.
func kept(t *testing.T, s scraped) {
	t.Helper()
	if s.values[`percached_answers_total{outcome="tensor_hit"}`] != 1 || s.kinds["go_goroutines"] == "" {
		t.Error("the scrape lacks what does not come from the state")
	}
}

// Without a readable state, the other metrics are served and percached_state_up is 0.
func TestStateIsDown(t *testing.T) {
	m := pedantic()
	busy(m)
	whole := scrape(t, m)
	if whole.values["percached_state_up"] != 1 {
		t.Fatal("the state is down")
	}
	var failing atomic.Bool
	failing.Store(true)
	m.WatchState(func() (State, error) {
		if failing.Load() {
			return standing(), errors.New("the disk is gone")
		}
		return standing(), nil
	})
	check := func(s scraped) {
		t.Helper()
		kept(t, s)
		if v, ok := s.values["percached_state_up"]; !ok || v != 0 {
			t.Errorf("up: %v, %v", v, ok)
		}
		if _, ok := s.values["percached_slices"]; ok {
			t.Error("slices were counted all the same")
		}
	}
	check(scrape(t, m))
	failing.Store(false)
	if d := cmp.Diff(whole.own(), scrape(t, m).own()); d != "" {
		t.Errorf("the state does not come back: %s", d)
	}
	fresh := pedantic()
	fresh.Answer(Answer{Outcome: "tensor_hit"})
	check(scrape(t, fresh))
}

// A state that never returns delays no scrape, and is not read a second time meanwhile.
func TestSlowState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New()
		busy(m)
		free := make(chan struct{})
		var looks atomic.Int32
		m.WatchState(func() (State, error) {
			looks.Add(1)
			<-free
			return standing(), nil
		})
		scrape := func() scraped { // without a socket, which would stand outside the bubble
			w := httptest.NewRecorder()
			m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			if w.Code != http.StatusOK {
				t.Fatalf("%d: %s", w.Code, w.Body)
			}
			return parse(t, w.Body.String())
		}
		for range 3 {
			began := time.Now()
			s := scrape()
			kept(t, s)
			if took := time.Since(began); s.values["percached_state_up"] != 0 || took != readTimeout {
				t.Errorf("up: %v after %v", s.values["percached_state_up"], took)
			}
		}
		if n := looks.Load(); n != 1 {
			t.Errorf("%d looks at once", n)
		}
		close(free)
		synctest.Wait()
		if s := scrape(); s.values["percached_state_up"] != 1 || s.values["percached_slices"] != 9 {
			t.Error("the state does not come back")
		}
	})
}

// Concurrent scrapes share one reading of the state.
func TestScrapesShareALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New()
		var looks atomic.Int32
		m.WatchState(func() (State, error) {
			looks.Add(1)
			time.Sleep(readTimeout / 2)
			return standing(), nil
		})
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				w := httptest.NewRecorder()
				m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
				if !strings.Contains(w.Body.String(), "\npercached_state_up 1\n") {
					t.Error("the state is down")
				}
			})
		}
		all.Wait()
		if n := looks.Load(); n != 1 {
			t.Errorf("%d looks", n)
		}
	})
}

// Counting during scrapes loses nothing.
func TestConcurrent(t *testing.T) {
	const tellers, times = 8, 200
	m := pedantic()
	url := serve(t, m)
	busy(m)
	before := scrape(t, m)
	stop := make(chan struct{})
	var scraping, telling sync.WaitGroup
	scraping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				text, _ := get(t, url, "text/plain")
				if parse(t, text).values["percached_state_up"] != 1 {
					t.Error("the state is down")
				}
			}
		}
	})
	for range tellers {
		telling.Go(func() {
			for range times {
				busy(m)
			}
		})
	}
	telling.Wait()
	close(stop)
	scraping.Wait()
	got := grown(before, scrape(t, m))
	for name, each := range map[string]float64{
		`percached_http_requests_total{operation="ask",status="200"}`:    1,
		`percached_answers_total{outcome="tensor_hit"}`:                  1,
		`percached_answer_stage_duration_seconds_count{stage="prefill"}`: 1,
		`percached_answer_tokens_total{source="reused"}`:                 500,
		`percached_answer_saved_seconds_total{layer="tensors"}`:          3,
		`percached_job_written_bytes_total{kind="decode"}`:               4096,
		`percached_layer_written_bytes_total{layer="tensors"}`:           300,
		`percached_expired_total{what="turns"}`:                          4,
		`percached_idle_joules_total{kind="decode"}`:                     25,
		`percached_questions_measured_total`:                             1,
		`percached_question_joules_total`:                                2.5,
		`percached_documents_forgotten_total`:                            7,
	} {
		if want := each * tellers * times; got[name] != want {
			t.Errorf("%s grew by %v, want %v", name, got[name], want)
		}
	}
}

// The cost of counting an answer and a request.
func BenchmarkAnswer(b *testing.B) {
	m := New()
	var took []Stage
	for i, name := range append(slices.Clone(stages), "total") {
		took = append(took, Stage{name, time.Duration(i) * time.Millisecond})
	}
	a := Answer{
		Outcome: "tensor_hit", Stages: took, Total: time.Second, Prompt: 700, Reused: 500, Computed: 200, Generated: 12,
		ChunksStored: 4, ChunksAll: 5, GateRefusals: []string{"likeness", "overlap"}, Saved: time.Second,
	}
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Answer(a)
			m.Request("ask", 200, time.Second)
		}
	})
	b.Run("together", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				m.Answer(a)
				m.Request("ask", 200, time.Second)
			}
		})
	})
}
