// Package predictor predicts what the user will ask, from abstracts of the documents and
// from the history, so that answers and tensors are ready before the question comes.
//
// Purpose: a space's abstract has one part for each chunk: a sentence in which the model
// summarises it ([Predictor.Summarise]). A prompt takes the unused parts of the newest
// documents ([Predictor.FromKnowledge]) or the latest questions
// ([Predictor.FromHistory]). The package parses the model's output, drops what is known
// or useless, and stores the rest as predictions.
//
// Some questions need no model: sentences of a certain form raise one ("The report is due
// on ..."), and what was asked about two names is asked about a third. A model that does
// not follow prompts only continues questions whose first words are given: those with
// which the user's questions begin, and a name in the text.
//
// Invariants:
//
//   - A method writes to disk before it returns, except for hits, which Flush and Close
//     write.
//   - One engine call is stored in one transaction: predictions, the mark on the parts
//     used, and the counts of dropped questions. If the engine or a check fails, nothing
//     changes.
//   - A part and a prediction name their chunks and are deleted with any of them. After
//     Forget, ForgetHistory or DropSpace has returned, no call that was in progress stores
//     anything.
//   - An abstract stays within its limit and covers the newest documents. An empty summary
//     is stored as a part without text, so that its chunk is not read again; nothing is
//     predicted from it.
//
// Goroutines: none are started. All methods except Close are safe for concurrent use.
// Writers take turns; no lock is held while the engine runs or a question is checked.
//
// State on disk: keys that begin with 'P'; FORMAT.md describes them.
package predictor
