// Package qkvtree keeps slices of attention tensors on disk, by what stands
// before them.
//
// Purpose: say which segments of a prompt are stored and lend them in place;
// take in new ones; keep all inside a byte limit by evicting what is worth
// least; forget.
//
// A node is a slice at its place: space, model, placement, and the path of token
// ids from the system segment, which is the root. Under sequential placement
// chunk stands behind chunk, and a match is the longest stored beginning of a
// prompt. Under parallel placement every chunk stands behind the root alone,
// and a match is whatever is stored.
//
// Why K and V are enough: a stored segment is not computed again at all, and
// what comes behind it asks with queries of its own for the stored keys and
// values. Queries are kept where a space wants them for something else.
//
// Eviction is LFU with dynamic ageing, leaves first: see forest. A new slice can
// always come in, because what was just asked for is likely to be asked again;
// it cannot push out the others of its own prompt, and is the first to go if
// nobody asks. System segments are pinned while their model is in use. What idle
// work stores has no use yet: it comes in where there is room, or in place of
// what nobody has used since a slice last had to go, and goes before all that
// somebody has used since. A space may have a limit of its own inside the whole:
// for that only its own slices make room, by a clock of their own, so that they
// neither push out nor age those of others.
//
// Invariants: a slice is there when its header is there; it is written last and
// removed first, so that a crash leaves a whole slice or none. Nothing is lent
// that was not held against its keyed MAC and its checksums in the same View.
// What cannot be read is dropped, under sequential placement with all behind
// it, counted, and told to the Observer; the user only finds it not stored. The
// bytes counted are the bytes stored, and never more than the limits; the
// database's files take no more than the limit and Stats.Slack. What View lends
// is memory of the database and valid inside the callback only.
//
// Goroutines: none. Reclaiming space and writing counters are done by those who
// insert; whole files are rewritten one at a time.
//
// State on disk: FORMAT.md, in a database that holds nothing else.
package qkvtree
