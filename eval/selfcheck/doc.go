// Package selfcheck has a tiny set whose right numbers are known by hand, and holds a
// run of it against them.
//
// Purpose: to see that all of the evaluation, from the service's counters to the
// report's sums, tells what happened. Data, Systems and Plan are what is to be run;
// Check says for each number what it must be and what it is. One system is a control
// whose bank is filled with wrong answers: quality must fall to nothing.
//
// Invariants: what must come out is derived in comments, from which question needs
// which chunks and from what a prompt is made of, never from an earlier run. It is
// reckoned here once more, not by the package that is checked.
//
// Goroutines: none. State on disk: none.
package selfcheck
