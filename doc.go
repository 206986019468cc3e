// Package percached defines the shared types: prompts made of segments, slices of stored
// attention tensors, and how an engine describes itself and a run.
//
// Purpose: the tree that stores slices and the engine that makes them share these types
// without importing each other.
//
// Invariants: everything here is a plain Go value. This package does no I/O, starts no
// goroutine and knows no C. A Slice is valid after exactly one Path; two slices with
// equal Model and Path hold equal tensors.
package percached
