// Package llm is the contract between percached and the runtime that computes:
// prompts go in, text and slices come out.
//
// Purpose: the one seam with several implementations. llm/llamacpp is the real
// one, llm/static an embedder without a network, llm/jinja renders chat
// templates for the first, llm/llmtest holds the
// conformance suite that each must pass and a scripted one for the tests of
// other packages.
//
// Invariants: values that cross the seam are plain Go; no pointer of C, no
// borrowed memory in a result. A warm run (slices restored) equals the cold one
// bit for bit.
package llm
