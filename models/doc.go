// Package models embeds two models in the binary, so that percached works without a
// download: nano, a language model that answers from chunks, and nano-embed, a table of
// word vectors for matching questions and finding chunks.
//
// Purpose: provide the models in the form that the engines open. The cards nano.md and
// nano-embed.md describe what they can do, RESULTS.md has the measurements, train/ the
// recipe, and demo/ the invented inbox on which they are tried.
//
// Invariants: the models' bytes never change within one release.
//
// Goroutines: none.
//
// State on disk: llama.cpp opens only files, so [Nano] writes one into a folder that the
// caller chooses. It can be deleted at any time and is then written again.
package models
