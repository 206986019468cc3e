// Package qkvtree keeps slices of attention tensors on disk.
//
// Purpose: for now the slice record alone: put, lend in place, delete. The tree
// over it (matching by path, LFU, the byte budget) comes in a later issue.
//
// Invariants: a slice is there when its header is there. The header is written
// last and removed first, so that a crash leaves a whole slice or none. View
// lends nothing that was not held against the header's checksums, and no header
// that was not held against its keyed MAC. What View lends is memory of the
// database and valid inside the callback only.
//
// Goroutines: none.
//
// State on disk: FORMAT.md, in the database that New was given.
package qkvtree
