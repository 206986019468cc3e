// Package backup writes and reads the archive that percached backup makes.
//
// Purpose: a Writer puts a header, files and records of a database into one
// stream; Read checks such a stream from its first to its last byte and hands out
// what it holds.
//
// Invariants: what Read hands out is trusted only when Read has returned without
// an error: an archive that was cut, damaged or added to is an error at its end at
// the latest. Names that are not an archive's are refused, and no name leads out of
// a folder. Memory is bounded, whatever the archive says of its sizes.
//
// Goroutines: none.
//
// State on disk: none of its own; FORMAT.md describes the archive.
package backup
