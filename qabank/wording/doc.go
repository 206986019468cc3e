// Package wording compares how two questions are worded, and says what they may
// differ in: a negation, a number, a date, a name, who does what to whom, an
// opposite, the kind of question, time or obligation, how many are meant, or
// what it is about.
//
// Purpose: find out, without a model, whether an answer to one question answers
// the other. It is made to be wrong on one side only: what is not understood
// counts as a difference, so that a reworded question may be turned away, and
// another question is not let through. [Compare] brings both questions into a
// plain form (frames.go, read.go), in which each word that carries something stands under
// the name of its group of synonyms, and asks that both have the same words in
// the same roles.
//
// Invariants: Compare is symmetric, pure, and does not panic on any text. Equal
// texts do not differ, unless nothing in them can be compared. English is
// understood; other languages are compared word by word, in order.
//
// Goroutines: none. State on disk: none; the lists in lists/ are part of the
// binary and are parsed on first use.
package wording
