// Package gguf reads, checks and writes GGUF model files without C.
//
// Purpose: every model file is checked here before llama.cpp opens it, because llama.cpp
// ends the process on a bad file. [Open] reads everything before the tensor data and
// checks every count, offset and size against the file's real size. [File.CheckModel]
// then checks what llama.cpp's loader and graphs assume. The other half, [Builder] and
// [WriteRandom], creates files: random models of real shapes that load, tokenise,
// generate and depend on their whole context, for tests and benchmarks on machines
// without a model.
//
// Invariants: reading never panics, and uses memory in proportion to what it really read:
// the head of a file, at most maxHeader bytes, and of the tensors only the one that
// Values is asked for. A File never changes after Open. It keeps no file open and reads
// tensor values from its path when asked. An error is a fault: Invalid for a damaged
// file, Unsupported for an intact one that this llama.cpp cannot run. WriteRandom with
// equal options writes equal bytes on every machine.
//
// Goroutines: WriteFile fills tensors with GOMAXPROCS goroutines, at most eight; all have
// ended when it returns. The callbacks of one Builder run concurrently.
//
// State on disk: a file is written beside its final path, with ".part" added, and renamed
// when complete.
package gguf
