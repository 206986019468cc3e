// Package metrics turns what the other packages observe into Prometheus
// metrics. It is the only package that knows Prometheus.
//
// Not built yet: this package holds nothing.
package metrics
