// Package llamacpp runs language models and embedding models through llama.cpp.
//
// Purpose: the one implementation of llm.Engine that computes, an llm.Embedder
// for models with a network, and the only package with cgo. llama.cpp itself is
// compiled by plain go build from the module github.com/ollama/ollama, imported
// for its objects (bundled.go); abi.h declares the part of its interface that is
// used here, and bridge.cpp wraps it so that no exception crosses into Go. With the
// build tag system_llama an installed libllama is linked instead (system.go): its own
// llama.h takes the place of abi.h, so that the compiler checks every call.
//
// Invariants: a run starts from an empty context, a batch never crosses a
// segment, segments are split at fixed offsets from their own start, and slices
// go back in the order of the prompt (under parallel placement: of their
// paths). So a warm run does the same arithmetic as the cold one and gives the
// same bits. Nothing reaches C that has not been checked in Go: model files by
// llm/gguf, slices by sliceChecker. No slice that is made holds a key or a value
// that is not a number. No C type is exported, and nothing that is returned lies in
// memory of C.
//
// Goroutines: one worker per context owns it; it ends in Close, which waits.
//
// State on disk: what was computed of a model file is kept beside it, where the folder
// can be written: the weights' SHA-256 in <model>.percached-sum, an encoder's threshold
// in <model>.percached-threshold.
package llamacpp

/*
#cgo CXXFLAGS: -std=c++17
#cgo LDFLAGS: -lm
#include "bridge.h"
*/
import "C"
