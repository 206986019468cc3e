// Package grounded checks whether an answer stands in the passages that it rests on.
//
// Purpose: small models write names, numbers and dates that no document contains, or
// repeat the question as an answer. Check finds both without a model. Each number, date
// and name of an answer must stand in a passage. So must at least half of its other words
// that are not the question's, and at least one. Best picks the passage to show instead
// of an answer that is not grounded.
//
// Invariants: the verdict depends on the texts alone. Forms of the same meaning are
// equal: case, accents, endings, 1,200 and 1200, "two" and 2, the orders of a date. A
// grounded answer may still be wrong: the check ignores who did what to whom. In doubt it
// lets an answer pass.
//
// Goroutines and state on disk: none.
package grounded
