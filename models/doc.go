// Package models holds the two models that are part of the binary, so that
// percached works without a download: nano, a language model that answers from
// chunks, and nano-embed, a table of word vectors for matching questions and
// finding chunks.
//
// Purpose: to hand them out in the form that the engines open. What the models
// can and cannot do stands in their cards, nano.md and nano-embed.md, with the
// measurements in RESULTS.md; train/ is the recipe that made them, demo/ the
// invented inbox that they are tried on.
//
// Invariants: the models' bytes never change within one release of the binary.
//
// Goroutines: none.
//
// State on disk: llama.cpp opens files only, so [Nano] puts one into a folder
// of the caller's choice. It can be deleted at any time, and is made again.
package models
