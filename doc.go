// Package percached holds the nouns that every other package speaks in: prompts
// made of segments, slices of stored attention tensors, what an engine says of
// itself and of one run.
//
// Purpose: one vocabulary, so that the tree that stores slices and the engine
// that makes them never import each other.
//
// Invariants: everything here is a plain Go value. Nothing in this package does
// I/O, starts a goroutine, or knows of C. A Slice is valid behind exactly one
// Path; two slices with equal Model and Path hold equal tensors.
package percached
