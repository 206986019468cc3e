// Package sealed puts small records into bytes and takes them apart: a version,
// fields, and a checksum.
//
// Purpose: one way to write what several stores keep under keys of their own.
//
// Invariants: the checksum covers the key too, so that no record stands for
// another. A Reader never reads beyond what is there, nor makes room for more
// than there are bytes; its first failure sticks, and End tells it.
//
// Goroutines, state on disk: none; those who use it say in their FORMAT.md what
// their records hold.
package sealed
