// Package likeness compares two questions, and two answers.
//
// Purpose: estimate how likely the answer to a stored question also answers another one
// ([Model.Score]), from features that need no language model and hardly any list of words.
// [SameWords] recognises questions that are provably the same, and [SameAnswer] whether
// two answers say the same.
//
// Invariants: all functions are pure and do not panic on any text.
//
// Goroutines: none. State on disk: none; fitted models are part of the binary.
package likeness
