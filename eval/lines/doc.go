// Package lines finds files and reads JSON lines: files of one object a line.
//
// Purpose: Walk, Open, Read and Object, for the packages that read data sets.
//
// Invariants: a line that is too long or no object stops nothing: the reader is
// told and goes on behind it. No more than one line is held.
//
// Goroutines: none. State on disk: none; files are opened for reading only.
package lines
