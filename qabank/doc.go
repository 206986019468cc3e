// Package qabank keeps answers to be given again: each entry holds a question,
// its embedding, the answer if there is one yet, and the evidence that must
// still stand before the answer may be served.
//
// Purpose: find the entries near a question ([Bank.Match]) or equal to it
// ([Bank.Exact]), and decide whether one may be served ([Judge], the gate). The
// bank stays inside a byte budget by LFU with ageing.
//
// Invariants: what a method has acknowledged is on disk before it returns, but
// for hits and confirmations, which are gathered and written by Flush and
// Close: a crash loses the last of them. Spaces share nothing but the budget.
// There is one entry for each normalised question of a space, and its ID says
// which question that is. The bytes counted are those of the records stored.
// Memory changes after the disk has, and readers look at memory first, so that
// nobody sees an old answer under a new state. A forgotten chunk's entries are
// found by no call that begins after Forget returned. A vetoed pair of
// questions is served in neither direction, with or without the guard.
//
// Goroutines: none are started. A Bank is safe for concurrent use, but for
// Close. Those who write stand in one line; those who read wait for memory
// only, never for the disk's writes.
//
// State on disk: keys that begin with 'Q'; FORMAT.md describes them.
package qabank
