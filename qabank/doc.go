// Package qabank stores answers for reuse. An entry holds a question, its embedding, the
// answer if there is one yet, and the evidence that must be unchanged before the answer
// may be served.
//
// Purpose: find the entries similar to a question ([Bank.Match]) or equal to it
// ([Bank.Exact]), and decide whether one may be served ([Judge], the gate). The bank
// stays within a byte limit by LFU with ageing.
//
// Invariants:
//
//   - A method writes to disk before it returns, except for hits and confirmations, which
//     Flush and Close write; a crash loses the latest of them.
//   - Spaces share only the byte limit.
//   - A space has one entry for each normalised question, and its ID is derived from that
//     question.
//   - The counted bytes are those of the stored records.
//   - Memory changes after the disk, and readers read memory first, so that they never see
//     an old answer with a new state.
//   - After Forget has returned, no call finds an entry of the forgotten chunks.
//   - A vetoed pair of questions is served in neither direction, with or without the guard.
//
// Goroutines: none are started. All methods except Close are safe for concurrent use.
// Writers take turns; readers wait for memory only, never for disk writes.
//
// State on disk: keys that begin with 'Q'; FORMAT.md describes them.
package qabank
