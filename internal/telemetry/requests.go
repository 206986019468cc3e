package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// requests counts what comes over HTTP. A series begins with its first request:
// most operations never get most statuses.
type requests struct {
	words by[string] // of operations
	total *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

// none is the operation of a request that reached none.
const none = "none"

func newRequests(to maker) requests {
	r := requests{
		words: each(operations, func(w string) string { return w }),
		total: to.counters("percached_http_requests_total", "HTTP requests that were answered.", "operation", "status"),
		took:  to.histograms("percached_http_request_duration_seconds", "How long HTTP requests took, streams until their end.", buckets(), "operation", "class"),
	}
	r.words[""] = none
	return r
}

// Request counts that an HTTP request was answered. The operation is empty where
// none was reached.
func (m *Metrics) Request(op string, code int, took time.Duration) {
	r := &m.requests
	op = r.words.of(op)
	r.total.WithLabelValues(op, status(code)).Inc()
	observe(r.took.WithLabelValues(op, class(code)), took)
}
