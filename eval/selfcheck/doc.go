// Package selfcheck tests the whole evaluation with a tiny data set whose right numbers
// are known.
//
// Purpose: to show that the evaluation, from the service's counters to the report's sums,
// reports what happened. Data, Systems and Plan are what to run. Check compares each
// number with the expected one. One system is a control: its bank is filled with wrong
// answers, so its quality must be 0.
//
// Invariants: comments derive the expected numbers from the chunks that each question
// needs and from the parts of a prompt, never from an earlier run. The code here computes
// them again, independently of the packages under test.
//
// Goroutines: none. State on disk: none.
package selfcheck
