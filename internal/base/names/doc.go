// Package names finds names in text without a model.
//
// Purpose: In lists the runs of words that begin with a capital letter, as names do in most
// European languages.
//
// Invariants: it only reads its argument.
//
// Goroutines: none.
//
// State on disk: none.
package names
