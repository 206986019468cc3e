// Package calibrate decides by measuring in which placement a model reads the chunks
// of a prompt.
//
// Purpose: chunks that are read side by side can be reused in any order, so that a
// first token comes sooner; some models answer worse from them. A [Book] gathers, for a
// model, a prompt and a kind of documents, how well the same questions were answered in
// both placements, and decides after 24, 48 or 96 of them: parallel where the answers'
// F1 against the documents is, with 90 % confidence, not more than 10 % lower,
// sequential where it is with that confidence lower (99 %, where the model's family was
// found to read well side by side: those were questions with known answers). What 96
// questions do not settle stays undecided.
//
// Invariants: a decision rests on the numbers of its record alone, and the record says
// them. No text of a question or a document is kept.
//
// Goroutines: none. A Book is safe for concurrent use.
//
// State on disk: a record for each model, prompt and kind of documents in the meta
// database, under keys that begin with P; the layout stands in book.go.
package calibrate
