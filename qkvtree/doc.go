// Package qkvtree stores slices of attention tensors on disk, by the segments before
// them.
//
// Purpose: find the stored segments of a prompt and lend them in place; insert new ones;
// keep the total within a byte limit by evicting the least valuable; forget.
//
// A node is a slice at its position: space, model, placement, and the path of token ids
// from the system segment, which is the root. Under sequential placement each chunk
// follows the previous one, and a match is the longest stored prefix of a prompt. Under
// parallel placement every chunk follows the root, and a match is whatever is stored; the
// turns of a conversation follow each other.
//
// K and V suffice: a stored segment is not computed again, and the segments after it
// bring their own queries for the stored keys and values. Queries are stored only if a
// space wants them for another purpose.
//
// Eviction is LFU with dynamic ageing, leaves first; see forest. A new slice always finds
// room, because a question just asked is likely to be repeated. It cannot evict the other
// slices of its own prompt, and it is evicted first if nobody asks again. System segments
// are pinned while their model is in use. A slice stored by idle work has no use yet: it
// takes free room, or replaces slices unused since the last eviction, and is evicted
// before all slices used since. A space may have its own limit within the total. For that
// limit only its own slices are evicted, by a clock of their own, so that slices of other
// spaces are neither evicted nor aged.
//
// Pack makes the least valuable slices smaller, at the cost of exactness, so that fewer are
// evicted. A request says which forms serve it; exact slices replace packed ones.
//
// The slices of conversations also expire; see Tree.Expire.
//
// The slices lent last are kept in memory too, if SetHotLimit allows any bytes for them:
// decrypted and checked, so that the next request that lends them reads no disk.
//
// Invariants:
//
//   - A slice exists if its header exists. The header is written last and deleted first,
//     so that a crash leaves a whole slice or none.
//   - Every slice is checked against its keyed MAC and its checksums in the same View that
//     lends it, or before it was kept in memory.
//   - Before a slice leaves the disk, or when it changes its form, its copy in memory is dropped:
//     no later View lends it. One that lends it already keeps it until it ends.
//   - An unreadable slice is dropped, counted and reported to the Observer; under
//     sequential placement the slices after it are dropped too. To the user it is simply
//     not stored.
//   - The counted bytes are the stored bytes and never exceed the limits. The database's
//     files exceed the limit by at most Stats.Slack.
//   - A lent slice is memory of the database or of the tree, valid only inside the callback.
//
// Goroutines: none. Callers of Insert reclaim space and write counters; files are
// rewritten one at a time.
//
// State on disk: FORMAT.md, in a database that holds nothing else.
package qkvtree
