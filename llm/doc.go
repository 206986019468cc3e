// Package llm is the contract between percached and the inference engine: prompts in,
// text and slices out.
//
// Purpose: the one seam with several implementations. llm/llamacpp is the real engine,
// llm/static an embedder without a neural network, llm/jinja renders chat templates for
// llm/llamacpp. llm/llmtest holds the conformance suite that each implementation must
// pass, and a fake for the tests of other packages.
//
// Invariants: values that cross the seam are plain Go, without C pointers or borrowed
// memory in a result. A warm run (slices restored) equals the cold one bit for bit.
package llm
