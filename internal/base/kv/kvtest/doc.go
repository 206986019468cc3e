// Package kvtest gives tests a disk that can be filled, and ways to damage files.
//
// Invariants: a disk exists until its test ends. It is the test's alone.
//
// Goroutines: none.
//
// State on disk: what the test puts there; nothing is left.
package kvtest
