package telemetry

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are percached's metrics. Its methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	requests requests
	answers  answers
	jobs     jobs
	layers   layers
	uploads  byLabel[prometheus.Counter]
	expired  byLabel[prometheus.Counter]
	typed    completions

	forgotten, restarts, cancelled, dropped prometheus.Counter
	measured, joules                        prometheus.Counter

	watcher *watcher
}

// New returns metrics in their own registry, with those of the Go runtime and the process.
func New() *Metrics { return newIn(prometheus.NewRegistry()) }

func newIn(r *prometheus.Registry) *Metrics {
	to := registrar{r}
	m := &Metrics{
		registry: r, requests: newRequests(to), answers: newAnswers(to), jobs: newJobs(to), layers: newLayers(to), typed: newCompletions(to), watcher: newWatcher(),
	}
	uploads := to.counters("percached_uploads_total", "Uploads that entered a state.", "state")
	m.uploads = forLabels(uploadStates, func(w string) prometheus.Counter { return uploads.WithLabelValues(w) })
	expired := to.counters("percached_expired_total", "What was deleted because of its age.", "what")
	m.expired = forLabels(expiring, func(w string) prometheus.Counter { return expired.WithLabelValues(w) })
	m.forgotten = to.counter("percached_documents_forgotten_total", "Deleted documents.")
	m.measured = to.counter("percached_questions_measured_total", "Questions whose energy is known.")
	m.joules = to.counter("percached_question_joules_total", "Energy of the questions whose energy is known.")
	m.restarts = to.counter("percached_engine_restarts_total", "Restarts of the engine.")
	m.cancelled = to.counter("percached_engine_cancelled_total", "Computations stopped because the client disconnected.")
	m.dropped = to.counter("percached_http_connections_dropped_total", "Idle connections closed to make room for others.")
	r.MustRegister(m.watcher, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics as text, OpenMetrics or protobuf. It leaves out metrics that
// cannot be read.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, EnableOpenMetrics: true})
}

// Forgotten counts deleted documents.
func (m *Metrics) Forgotten(documents int) { add(m.forgotten, documents) }

// Expired counts what was deleted because of its age: slices, questions, answers, turns or
// predictions.
func (m *Metrics) Expired(what string, n int) { add(m.expired.of(what), n) }

// Upload counts an upload that entered a state.
func (m *Metrics) Upload(state string) { m.uploads.of(state).Inc() }

// EngineRestarted counts a restart of the engine.
func (m *Metrics) EngineRestarted() { m.restarts.Inc() }

// EngineCancelled counts a computation stopped because the client disconnected.
func (m *Metrics) EngineCancelled() { m.cancelled.Inc() }

// ConnectionDropped counts an idle connection closed to make room for another.
func (m *Metrics) ConnectionDropped() { m.dropped.Inc() }

// buckets are the histogram bounds of durations in seconds, from 0.1 ms to a minute.
func buckets() []float64 {
	return []float64{
		0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60,
	}
}

// registrar creates and registers metrics.
type registrar struct{ in prometheus.Registerer }

func (m registrar) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.in.MustRegister(v)
	return v
}

func (m registrar) counter(name, help string) prometheus.Counter {
	return m.counters(name, help).WithLabelValues()
}

func (m registrar) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.in.MustRegister(v)
	return v
}

// add counts n. A prometheus counter panics on negative numbers.
func add[T int | int64](c prometheus.Counter, n T) { c.Add(float64(max(0, n))) }

func addTime(c prometheus.Counter, d time.Duration) { c.Add(max(0, d).Seconds()) }

func observe(h prometheus.Observer, d time.Duration) { h.Observe(max(0, d).Seconds()) }

// requests counts HTTP requests. A series starts with its first request, because most
// combinations of operation and status never occur.
type requests struct {
	words byLabel[string] // labels of operations
	total *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

// none labels requests that matched no operation.
const none = "none"

func newRequests(to registrar) requests {
	r := requests{
		words: forLabels(operations, func(w string) string { return w }),
		total: to.counters("percached_http_requests_total", "Answered HTTP requests.", "operation", "status"),
		took:  to.histograms("percached_http_request_duration_seconds", "Duration of HTTP requests; of streams, until their end.", buckets(), "operation", "class"),
	}
	r.words[""] = none
	return r
}

// Request counts an answered HTTP request. op is empty if no operation matched.
func (m *Metrics) Request(op string, code int, took time.Duration) {
	r := &m.requests
	op = r.words.of(op)
	r.total.WithLabelValues(op, status(code)).Inc()
	observe(r.took.WithLabelValues(op, class(code)), took)
}
