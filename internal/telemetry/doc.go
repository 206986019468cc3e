// Package telemetry turns what the layers observe into Prometheus metrics and events. No other
// package imports Prometheus. docs/metrics.md lists every metric.
//
// Purpose: a Recorder implements the observers of the layers. Metrics counts what the Recorder
// passes on, and reads the rest from a State at each scrape.
//
// Invariants: a label has only values from a fixed table; other values count as "other". So
// labels contain no names of spaces, documents or tokens and no user text, and the number of
// series is limited. A metric whose label values are known starts at zero. Counting never
// blocks and never fails; negative numbers count as zero. A scrape succeeds even if the State
// cannot be read.
//
// Goroutines: one for each reading of the State. A slow reading is not waited for, and at most
// one runs at a time.
//
// State on disk: none.
package telemetry
