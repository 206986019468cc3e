// Package telemetry turns what the layers observe into Prometheus metrics and events.
// It is the only package that knows Prometheus. docs/metrics.md lists every metric.
//
// Purpose: a Recorder implements the observers of the layers. Metrics counts what the
// Recorder passes on, and reads the rest from a State when it is scraped.
//
// Invariants: the labels of a metric come from tables of known words; any other
// word is counted as "other". So no name of a space, a document or a token and
// no text of anybody gets into a label, and the number of series is bounded.
// Where all words of a metric are known beforehand, its series are there from the
// start, with zero. Counting never blocks and never fails; a number below zero
// counts as zero. A scrape succeeds whatever becomes of the State.
//
// Goroutines: none of its own but one for each look at the State. A look that
// takes too long is not waited for, and there is never more than one.
//
// State on disk: none.
package telemetry
