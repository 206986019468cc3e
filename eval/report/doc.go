// Package report makes of a run's results what people and programs read.
//
// Purpose: Make adds a run up as plain data: what ran, what each system came to,
// percached against the best baseline, the variants of systems, each question.
// Its writers put that down as Markdown, CSV, JSON and text, with the figures.
// Compare holds two runs, or two systems, against each other.
//
// Invariants: the same results give the same bytes. Misses are always part of a
// mean; a failed question counts as asked and as wrong, and is named. What could
// not be told is absent, never zero. No text of documents, questions or answers
// gets into it unless Quote is called.
//
// Goroutines: none. State on disk: what WriteAll writes.
package report
