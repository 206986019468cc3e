// Package gguf reads, checks and writes GGUF model files without any C.
//
// Purpose: nothing reaches llama.cpp before it was looked at here, because
// llama.cpp answers a bad file by ending the process. [Open] reads what stands
// before the tensor data and holds every count, offset and size against the
// real size of the file; [File.CheckModel] then looks for what llama.cpp's
// loader and graphs assume. The other half, [Builder] and [WriteRandom], makes
// files: random models of real shapes that load, tokenise, generate and depend
// on their whole context, for tests and benchmarks on machines without a model.
//
// Invariants: reading never panics and takes memory in proportion to what was
// really read: the head of a file, of which at most maxHeader bytes are taken,
// and never the tensors, but for the one that Values is asked for. A File never changes after Open; it keeps no
// file open, and reads tensor values from its path again when asked. An error
// is a fault: Invalid for a damaged file, Unsupported for a sound one that this
// llama.cpp cannot run. WriteRandom with equal options writes equal bytes on
// every machine.
//
// Goroutines: WriteFile fills tensors from as many goroutines as GOMAXPROCS
// says, eight at most, and all have ended when it returns. The callbacks of one Builder run
// concurrently.
//
// State on disk: a file is written beside its final path, with ".part" added,
// and renamed when complete.
package gguf
