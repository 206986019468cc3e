// Package static turns texts into vectors without a network: a text's vector is
// the sum of its words' vectors, looked up in a table.
//
// Purpose: an llm.Embedder in pure Go that takes microseconds a text, for
// machines and moments where an embedding model is too slow. The table is a
// GGUF file of its own architecture, described with its tokenisation in
// FORMAT.md. [Open] reads one from disk, [Parse] takes one that is in memory,
// as the one built into the binary is, and uses its rows where they lie.
//
// Invariants: an Embedder never changes. A text's vector depends on that text
// and the table alone, has length 1, and is the same bits on every machine that
// has the same edition of Unicode; the fingerprint covers both. A text without
// rows, the empty one for example, has the vector 1, 0, 0 and so on. Whatever
// the bytes of a table, opening it does not panic, and what was opened holds no
// value that is not finite. An error is a fault: Invalid for a damaged table,
// Unsupported for another model or a later version of the format.
//
// Goroutines: none are started. A call runs at once on its caller's goroutine,
// beside others, so that there is no line, and nothing is preempted: between
// two texts background work lets other goroutines go first, and looks whether
// it was cancelled or the Embedder closed.
//
// State on disk: none is written.
package static
