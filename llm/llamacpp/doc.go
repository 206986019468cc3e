// Package llamacpp runs language models and embedding models with llama.cpp.
//
// Purpose: the llm.Engine that computes, an llm.Embedder for embedding models, and the
// only package with cgo. Plain go build compiles llama.cpp from the module
// github.com/ollama/ollama, imported for its objects (bundled.go). abi.h declares the
// part of its interface that is used here, and bridge.cpp wraps it so that no exception
// reaches Go. With the build tag system_llama an installed libllama is linked instead
// (system.go): its own llama.h replaces abi.h, so that the compiler checks every call.
//
// Invariants: a run starts from an empty context, a batch never crosses a segment,
// segments are split at fixed offsets from their own start, and slices are restored in
// the order of the prompt (under parallel placement: of their paths). So a warm run does
// the same arithmetic as the cold one and gives the same bits. Go checks everything
// before C sees it: llm/gguf model files, sliceChecker slices. Every key and value of a
// new slice is finite. No C type is exported, and results never point into C memory.
//
// Texts that are typed have a context of their own, whose sequences are reused and moved
// (typing_texts.go). It is outside these rules: nothing of it is stored.
//
// Goroutines: one worker owns each engine's contexts; it ends in Close, which waits. A
// timer closes the context for typing.
//
// State on disk: values computed from a model file are stored beside it if the folder is
// writable: the weights' SHA-256 in <model>.percached-sum, an encoder's threshold in
// <model>.percached-threshold, and whether a batch changes bits in <model>.percached-batches.
package llamacpp

/*
#cgo CXXFLAGS: -std=c++17
#cgo LDFLAGS: -lm
#include "bridge.h"
*/
import "C"
