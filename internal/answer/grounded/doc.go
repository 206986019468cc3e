// Package grounded says whether an answer stands in the passages that it rests on.
//
// Purpose: small models write names, numbers and dates that no document holds, or
// give the question back as an answer. Check finds both without a model: each
// number, date and name of an answer must stand in a passage, and of its other
// words that the question does not give, at least one, and no fewer than half.
// Best picks what to show instead of an answer that is not grounded.
//
// Invariants: the verdict depends on the texts alone. Forms that mean the same are
// the same: case, accents, endings, 1,200 and 1200, "two" and 2, the orders of a
// date. A grounded answer may still be wrong: who did what to whom is not looked
// at. Where the check errs it rather lets an answer pass.
//
// Goroutines and state on disk: none.
package grounded
