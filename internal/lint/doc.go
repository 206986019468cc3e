// Package lint holds the rules of this house that a compiler does not know: who
// may import whom, how long a file may be, where cgo may live, what a package
// must say of itself. Its tests run every rule over the repository, and show of
// every rule that it can fail.
//
// Invariants: a rule reads a Tree and nothing else, so that it can be tried on
// a made-up one. Packages do not import this one.
package lint
