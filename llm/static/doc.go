// Package static turns texts into vectors without a neural network: a text's vector is
// the sum of its words' vectors from a table.
//
// Purpose: an llm.Embedder in pure Go that needs microseconds for a text, for when an
// embedding model is too slow. The table is a GGUF file of its own architecture;
// FORMAT.md describes it and its tokenisation. [Open] reads one from disk. [Parse] uses
// one in memory, like the one embedded in the binary, and reads its rows in place.
//
// Invariants: an Embedder never changes. A text's vector depends only on the text and the
// table, has length 1, and is bit-equal on all machines with the same version of Unicode;
// the fingerprint covers both. A text without rows, such as the empty one, has the vector
// 1, 0, 0 and so on. Opening never panics, and an opened table has only finite values. An
// error is a fault: Invalid for a damaged table, Unsupported for another model or a later
// version of the format.
//
// Goroutines: none are started. Calls run at once on their caller's goroutine,
// concurrently, so there is no queue and no preemption. Between two texts, background
// work yields to other goroutines and checks whether it was cancelled or the Embedder
// closed.
//
// State on disk: none is written.
package static
