// Package gate decides whether a stored answer is served for a question in other words,
// so that at most a given share of the answers served is wrong, and learns from checks.
//
// Purpose: hold the user's error budget ([Gate.Decide]). Each decision has a score, the
// estimated probability that the answer is right. The gate serves from a threshold: the
// lowest score from which the expected share of wrong answers stays within what is left of
// the budget. The expectation comes from the shipped calibration, which weighs as much as
// at most [Options.Prior] questions, and from the space's own labels ([Gate.Learn]).
//
// Invariants:
//
//   - Wrong answers that were found are paid for: the next answers must be better than the
//     budget by what the earlier ones overdrew. So over a space's own checked questions the
//     share stays within the budget for 95 of 100 spaces (a test simulates them).
//   - Labels that contradict the calibration end it. From then on the space's own labels
//     must show, with 95 % confidence, that the share is within the budget; likewise if
//     there is no calibration.
//   - One wrong label near a question (by their vectors) shuts that region until
//     [Options.Amends] right ones are near it.
//   - Labels age, so that the gate follows a change. A score below [Options.Floor] is never
//     served, whatever the labels say: false labels can open the gate no further.
//   - Without new checks nothing changes: the promise rests on the calibration and on the
//     checks made so far.
//   - Equal labels in equal order give an equal gate. A budget of 0 serves nothing.
//
// Goroutines: none; the caller serialises calls. State on disk: none; the QA bank stores the
// labels.
package gate
