// Package fault gives errors a kind, so that a caller can react without reading the error text.
//
// Purpose: it defines eight kinds, New makes an error of a kind, Wrap adds an
// operation, and Sentence leaves operations out.
//
// Invariants: the kind of nil is zero. An error without a kind is Internal, except context
// errors, which are Timeout.
package fault
