// Package likeness compares two questions, and two answers.
//
// Purpose: estimate how likely the answer to a stored question also answers another one
// ([Model.Score]), from features that need no language model. [Proven] recognises questions
// that differ in nothing that is understood, and [SameAnswer] answers that say the same.
//
// Invariants: all functions are pure and do not panic on any text.
//
// Goroutines: none. State on disk: none; fitted models are part of the binary.
package likeness
