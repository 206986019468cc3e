// Package demo holds an invented inbox, for whoever wants to try percached before
// it gets documents of theirs.
//
// Purpose: percached demo takes its files in. README.md beside it tells who lives
// in them; questions.jsonl, for tests and measurements, is not part of the binary.
//
// Invariants: the files never change within one release of the binary.
//
// Goroutines: none.
//
// State on disk: none; the files are part of the binary.
package demo
