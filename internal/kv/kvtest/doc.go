// Package kvtest gives tests a disk that can be filled.
//
// Invariants: a disk exists until its test ends. It is the test's alone.
//
// Goroutines: none, but those of a Disk that is told to stay full.
//
// State on disk: what the test puts there; nothing is left.
package kvtest
