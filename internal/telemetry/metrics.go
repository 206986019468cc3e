package telemetry

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are percached's metrics. Its methods may be called at once from many
// goroutines.
type Metrics struct {
	registry *prometheus.Registry
	requests requests
	answers  answers
	jobs     jobs
	layers   layers
	uploads  by[prometheus.Counter]

	forgotten, restarts, cancelled, dropped prometheus.Counter

	watcher *watcher
}

// New makes metrics in a registry of their own, with those of Go's runtime and of
// the process.
func New() *Metrics { return newIn(prometheus.NewRegistry()) }

func newIn(r *prometheus.Registry) *Metrics {
	to := maker{r}
	m := &Metrics{
		registry: r, requests: newRequests(to), answers: newAnswers(to), jobs: newJobs(to), layers: newLayers(to), watcher: newWatcher(),
	}
	uploads := to.counters("percached_uploads_total", "Uploads that came into a state.", "state")
	m.uploads = each(uploadStates, func(w string) prometheus.Counter { return uploads.WithLabelValues(w) })
	m.forgotten = to.counter("percached_documents_forgotten_total", "Documents that were forgotten.")
	m.restarts = to.counter("percached_engine_restarts_total", "How often the engine was opened anew.")
	m.cancelled = to.counter("percached_engine_cancelled_total", "Computations that were stopped because nobody waited for the answer any more.")
	m.dropped = to.counter("percached_http_connections_dropped_total", "Connections without a request that were closed to make room for others.")
	r.MustRegister(m.watcher, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics as text, OpenMetrics or protobuf. What cannot be
// gathered is left out.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, EnableOpenMetrics: true})
}

// Forgotten counts documents that were forgotten.
func (m *Metrics) Forgotten(documents int) { add(m.forgotten, documents) }

// Upload counts that an upload came into a state.
func (m *Metrics) Upload(state string) { m.uploads.of(state).Inc() }

// EngineRestarted counts that the engine was opened anew.
func (m *Metrics) EngineRestarted() { m.restarts.Inc() }

// EngineCancelled counts that the engine stopped computing an answer because
// nobody waited for it any more.
func (m *Metrics) EngineCancelled() { m.cancelled.Inc() }

// ConnectionDropped counts that a connection was closed to make room for another.
func (m *Metrics) ConnectionDropped() { m.dropped.Inc() }

// buckets of everything that is timed, in seconds: from 0.1 ms to a minute.
func buckets() []float64 {
	return []float64{
		0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60,
	}
}

// maker makes metrics and enters them into a registry.
type maker struct{ in prometheus.Registerer }

func (m maker) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.in.MustRegister(v)
	return v
}

func (m maker) counter(name, help string) prometheus.Counter {
	return m.counters(name, help).WithLabelValues()
}

func (m maker) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.in.MustRegister(v)
	return v
}

// add counts n; a counter panics at less than zero.
func add[T int | int64](c prometheus.Counter, n T) { c.Add(float64(max(0, n))) }

func addTime(c prometheus.Counter, d time.Duration) { c.Add(max(0, d).Seconds()) }

func observe(h prometheus.Observer, d time.Duration) { h.Observe(max(0, d).Seconds()) }
