// Package calibrate measures in which placement a model reads the chunks of a prompt
// better, and how much packed tensors change its answers, and decides.
//
// Purpose: chunks read in parallel can be reused in any order, so the first token comes
// sooner; but some models then answer worse. For a model, a prompt and a kind of
// documents, a [Book] records how well the same questions were answered in both
// placements. It decides after 24, 48 or 96 questions, by the answers' F1 against the
// documents:
//
//   - parallel, if F1 is at most 10 % lower with 90 % confidence;
//   - sequential, if it is more than 10 % lower with 90 % confidence, or with 99 % if the
//     model's family was measured to read well in parallel, on questions with known
//     answers;
//   - undecided after 96 questions otherwise.
//
// Invariants: a decision depends only on the numbers of its record, and the record
// contains them. No text of questions or documents is stored.
//
// Goroutines: none. A Book is safe for concurrent use.
//
// State on disk: one record for each model, prompt and kind of documents in the meta
// database, under keys that begin with C; book.go describes the layout.
package calibrate
