// Package answer is the path of one question: exact repeat, embedding, QA bank,
// retrieval, the gate, the tensor tree, the engine.
//
// Purpose: Asker.Ask turns a question into an answer that says how it came, what
// it rests on, why a stored answer was served or not, and where the time went.
// History remembers what was asked.
//
// Invariants: a warm answer equals the cold one: stored tensors change what an
// answer costs, never what it says. A stored answer is served only if it passes
// the gate. A store that fails costs reuse and is noted in the answer; only a
// failing engine fails the question. Identical questions of one caller in flight are
// computed once; who asks after a change of the documents never follows one from
// before. Questions that need the engine wait in one queue of a bounded length, in
// which callers take turns; stored answers need no place in it. Callers take turns at
// the embedder, too. What a client brings beside its question (earlier turns,
// instructions) stands behind the chunks, as text: stored tensors serve such a
// question like any other, and the bank has no part in it. Citations are known
// before the answer begins: what does not fit the context is left out here.
// What is put into the bank stands in the chunks of the prompt, see [Grounds], and
// holds every one of them as evidence. Nothing
// is stored of a chunk that went while the question was under way.
//
// Goroutines: one for each question in flight; it ends when the answer is there
// or when nobody waits for it. Close waits for them.
//
// State on disk: the history, under the prefix 'H' of the database that
// OpenHistory was given: see history.go.
package answer
