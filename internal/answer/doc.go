// Package answer takes one question along its path: exact repeat, embedding, QA bank,
// retrieval, gate, prompt, stored tensors, engine, storing.
//
// Purpose: Asker.Ask answers a question. The answer says how it came about, what it rests
// on, why a stored answer was served or not, and where the time went. The path is the
// function answer in ask.go; each step that it calls takes values and returns values.
// History keeps the questions that were asked.
//
// Invariants:
//
//   - A warm answer equals the cold one: stored tensors change what an answer costs,
//     never what it says.
//   - A stored answer is served only if it passes the gate.
//   - If a store fails, the question is answered without it, and a note says so. Only a
//     failing engine fails a question.
//   - Identical questions of one caller in flight are computed once. A question that comes
//     after a change of the documents never follows one from before.
//   - Questions that need the engine wait in one bounded queue, in which callers take
//     turns. Stored answers need no place in it. Callers take turns at the embedder too.
//   - A question that stands alone, or can be made to, is answered without earlier turns.
//     Otherwise these stand behind the chunks, as text, and the bank has no part in it.
//   - A client's instructions stand before the chunks, and their tensors are stored. The
//     bank keeps answers under different instructions apart.
//   - The prompt is planned here, and the engine runs it as it is. So the citations are
//     known before the answer begins.
//   - An answer enters the bank only if it is grounded in the chunks of its prompt (see
//     [Grounds]), and has all of them as evidence.
//   - Nothing of a text that is being typed is stored, and what the engine keeps of it is
//     forgotten with any chunk. It is never reused for another caller or space.
//   - Nothing is stored that rests on a chunk that went while the question was answered.
//
// Goroutines: one for each question in flight, which ends when the answer is complete or
// nobody waits for it, and one for each view of the tensor tree. Close waits for them.
//
// State on disk: the history, under the prefix 'H' of the database given to OpenHistory;
// see history.go.
package answer
