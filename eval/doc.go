// Package eval measures percached from outside: how good its answers are, how fast they
// come, and how much work they reuse. It sends requests to a running percached through
// api/client.
//
// Purpose: the types that the packages below share. The packages enronqa, mised and plain
// read data sets. Package systems lists what is compared, trial runs it, and folder stores
// the run. Package measure has the measures, report sums them up, and figure draws.
// Package selfcheck tests the whole pipeline, and load puts a percached under load.
//
// Invariants: nothing that was to be read or asked is dropped silently. A data set names
// what was skipped, and a report names what failed.
//
// Goroutines: none. State on disk: none.
package eval
