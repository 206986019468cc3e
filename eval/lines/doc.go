// Package lines finds files and reads JSON lines.
//
// Purpose: Walk, Open, Read and Object, for the packages that read data sets.
//
// Invariants: a line that is too long or not an object is reported, and reading continues
// after it. At most one line is held in memory.
//
// Goroutines: none. State on disk: none; files are only read.
package lines
