//go:build !system_llama

package llamacpp

/*
#cgo linux LDFLAGS: -Wl,-wrap=ggml_backend_free
*/
import "C"

import (
	_ "github.com/ollama/ollama/llama/llama.cpp/src" // compiles and links llama.cpp
)

// bundledVersion names the llama.cpp that is compiled in; a test holds it to go.mod.
const bundledVersion = "github.com/ollama/ollama v0.17.4"

// installed says whether llama.cpp is a library of this machine.
const installed = false

// engineVersion names what computes, for fingerprints.
func engineVersion(int) string { return bundledVersion }

// Library tells people which llama.cpp this is.
func Library() string { return "bundled (" + bundledVersion + "), CPU only" }

// usableLibrary has nothing to check: what is compiled in is what was compiled against.
func usableLibrary() error { return nil }

// gpus are the devices beside the CPU that compute.
func gpus() []gpu { return nil }

// noGPU says why there is none.
func noGPU() string {
	return "the bundled llama.cpp computes on the CPU only: build percached with make build LLAMA=system"
}

// leftOut says which states llama.cpp does not write whole; empty: none that is known.
func leftOut(string) string { return "" }
