// Package trace sends the steps of questions to a collector, by OpenTelemetry's protocol over HTTP
// (OTLP).
//
// Purpose: Question turns one question into a span with a child for each stage that it had.
//
// Invariants: a span has times, counts, the outcome and the request's id, and no text of
// documents, questions or answers, and no name of a space or token. A question whose client
// sent a traceparent header belongs to that trace, and is left out if the client does not record
// it. A collector that is slow or away delays nothing: spans wait in a bounded queue, and are
// dropped when it is full or when the collector refuses them.
//
// Goroutines: one, from New to Close, which sends every five seconds.
//
// State on disk: none.
package trace
