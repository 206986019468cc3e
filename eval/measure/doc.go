// Package measure has the measures of the evaluation.
//
// Purpose: Exact and F1 hold an answer against those that are right, as SQuAD
// does: in lower case, without ASCII punctuation, without the words a, an and the,
// words apart by one space; of several right answers the nearest counts. Of sums up
// times.
//
// Invariants: all is computed from what is given; the same gives the same.
//
// Goroutines: none. State on disk: none.
package measure
