// Command percached answers questions over a person's own documents.
//
// Purpose: the binary's face, and the place where all is wired. Now it has
// bench (what reuse is worth on this machine), doctor (whether machine, binary
// and model go together) and version.
//
// Invariants: main calls run and turns its error into one sentence and an exit
// status: 1 when something failed, 2 when it was called wrongly. What is asked
// for goes to stdout; progress and warnings go to stderr.
//
// Goroutines: those of one command; they end before it does. A signal ends the
// command's context.
//
// State on disk: random models in the user's cache folder under
// percached/shapes; databases of the benchmarks in temporary folders that are
// removed.
package main
