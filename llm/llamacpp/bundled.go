//go:build !system_llama

package llamacpp

/*
#cgo linux LDFLAGS: -Wl,-wrap=ggml_backend_free
*/
import "C"

import (
	_ "github.com/ollama/ollama/llama/llama.cpp/src" // compiles and links llama.cpp
)

// bundledVersion is the version of the compiled llama.cpp; a test compares it with
// go.mod.
const bundledVersion = "github.com/ollama/ollama v0.17.4"

// installed reports whether llama.cpp is an installed library.
const installed = false

// engineVersion identifies the engine in fingerprints.
func engineVersion(int) string { return bundledVersion }

// Library describes llama.cpp for people.
func Library() string { return "bundled (" + bundledVersion + "), CPU only" }

// usableLibrary checks nothing: the compiled code matches its header.
func usableLibrary() error { return nil }

// gpus are the computing devices besides the CPU.
func gpus() []gpu { return nil }

// noGPU is why there is no GPU.
func noGPU() string {
	return "the bundled llama.cpp computes on the CPU only: build percached with make build LLAMA=system"
}

// leftOut is why llama.cpp writes incomplete states of an architecture; empty: it writes
// complete ones.
func leftOut(string) string { return "" }
