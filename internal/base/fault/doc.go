// Package fault gives errors a kind, so that the outer face can answer rightly
// without reading error text.
//
// Purpose: eight kinds and two ways to make an error that has one.
//
// Invariants: the kind of a nil error is zero. An error that nobody gave a kind
// is Internal, but for the context errors, which are Timeout.
package fault
