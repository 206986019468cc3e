// Package conversation stores conversations: their turns, and a summary of the turns that
// no longer fit into a prompt.
//
// Purpose: a client sends the next question alone, and a long conversation keeps what was
// said early on.
//
// Invariants:
//
//   - What Append returned without an error survives a crash. It adds all turns or none.
//   - The turns of a conversation are numbered from 0, without gaps except where turns were
//     forgotten.
//   - A turn that rests on a forgotten chunk is removed with the question before it, and
//     with it the summary of the conversation: the summary may repeat what the turn said.
//   - A summary is stored only if nothing was forgotten since the turns for it were read.
//
// Goroutines: none. A Store is safe for concurrent use.
//
// State on disk: keys that begin with 'V'; FORMAT.md describes them.
package conversation
