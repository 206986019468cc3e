// Command percached answers questions over a person's own documents.
//
// Purpose: the binary's face, and the place where all is wired: service joins the
// layers on a data folder, face makes an api.Backend of it, serve runs that as a
// daemon, and every command is a few lines over them. What can be set stands in
// one table, keys.
//
// Invariants: main calls run and turns its error into one sentence and an exit
// status: 1 when something failed, 2 when it was called wrongly. What is asked
// for goes to stdout; progress and warnings go to stderr.
//
// Goroutines: those of one command; they end before it does. A signal ends the
// command's context, a second one the process. A daemon runs its server, the
// scheduler and the inbox beside each other: when one fails, all end.
//
// State on disk: the file address of a data folder, while a daemon runs; random
// models in the user's cache folder under percached/shapes; databases of the
// benchmarks in temporary folders that are removed.
package main
