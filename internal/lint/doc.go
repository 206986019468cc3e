// Package lint holds the repository's rules that a compiler does not check: who may import
// whom, the maximum length of a file, where cgo is allowed, what a package must document. Its
// tests apply every rule to the repository, and show that every rule can fail.
//
// Invariants: a rule reads a Tree only, so a test can run it on an invented one. No package
// imports this one.
package lint
