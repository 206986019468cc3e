// Package predictor guesses what the user will ask, from abstracts of the
// documents and from the questions asked so far, so that answers and tensors
// are ready before the question comes.
//
// Purpose: a space's abstract has a part for each chunk, a sentence that the
// model sums it up in ([Predictor.Summarise]). Parts that no prediction was made
// from yet go into one prompt, those of the newest documents first
// ([Predictor.FromKnowledge]); so do the latest questions
// ([Predictor.FromHistory]). What the model prints is parsed, held against what
// is known, and kept as predictions.
//
// Invariants: what a method has acknowledged is on disk before it returns, but
// for hits, which Flush and Close write. A call of the engine is stored in one
// transaction: its predictions, the mark on the parts that they came from, and
// the counts of what was dropped. An error, of the engine or of a check, changes
// nothing. A part and a prediction name the chunks they rest on and go with any
// of them; nothing that was under way when Forget, ForgetHistory or DropSpace was
// called is stored after it returned. An abstract stays inside its limit: it
// holds the parts of the newest documents. An empty summary is kept as a part
// without text, so that its chunk is not read again, and nothing is predicted
// from it.
//
// Goroutines: none are started. A Predictor is safe for concurrent use, but for
// Close. Those who write stand in one line, which nobody holds while the engine
// runs or a question is checked.
//
// State on disk: keys that begin with 'P'; FORMAT.md describes them.
package predictor
