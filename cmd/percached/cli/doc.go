// Package cli has the commands that ask a running percached, or one that is
// opened for the command alone: ask, add, documents, spaces, cache, qa, history,
// idle, predict, status.
//
// Purpose: each command sends requests through api/client and prints what comes
// back, for people or with --json as the interface gives it. What it prints for
// people goes to standard output; notes, progress and faults go to standard error.
// How a percached is reached is the Host's business, so that every command is the
// same with a daemon and without.
//
// Invariants: nothing here knows a layer of the service. A fault of the interface is
// a *client.ProblemError, with the status that tells its kind.
//
// Goroutines: those that a command starts end with its requests. State on disk:
// none.
package cli
