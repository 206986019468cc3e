// Command percached answers questions over a person's own documents.
//
// Purpose: the commands, one file each. A command parses its flags, calls a package and
// prints the result. Most commands (call.go) send requests over a link.Link, either to the
// daemon that uses the data folder or to a node that the command opens itself (dial.go).
// "serve" lives in internal/commands, which both binaries share.
//
// Invariants: results go to stdout; progress, notes and errors go to stderr. --json prints
// what the HTTP interface returns. commands.Run turns an error into one sentence and an
// exit status.
//
// Goroutines: those of one command; they end before it does. The first signal ends the
// command's context, the second one the process.
//
// State on disk: none of its own; see internal/node and internal/daemon.
package main
