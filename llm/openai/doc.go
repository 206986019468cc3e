// Package openai is an engine and an embedder on a server that speaks OpenAI's interface:
// llama-server, vLLM, SGLang, Ollama, TGI and others.
//
// Purpose: percached in front of a server that exists. The server lays out prompts with its own
// chat template, so a prompt's segments become messages: instructions and chunks the first,
// the question the last. Slices stay on the server: ModelInfo.NoSlices says so. In their place
// the server's own prefix cache is used: ModelInfo.PrefixCache says that the server showed it in
// its counters when it was opened.
//
// Invariants:
//   - It connects to the configured address only: no proxy, no redirect.
//   - The key is in no error, no log and no URL. Text that a server sends with an error is not
//     passed on, because it may quote a prompt.
//   - A request is repeated only while nothing of its answer was emitted.
//   - What a server sends is bounded: an event, an answer, a body.
//
// Goroutines: an engine runs requests on their callers' goroutines, one at a time, foreground
// first. Only net/http has goroutines of its own; Close ends them. Nothing is on disk.
package openai
