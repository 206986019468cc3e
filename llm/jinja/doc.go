// Package jinja renders the chat templates of models.
//
// Purpose: a model file brings its chat template as a program in the language Jinja. Who
// made the file decides what it does: it may loop for ever or take all memory. So it runs
// in a process of its own, which has no files and no network to offer it, little time
// and little memory, and whose end harms nobody.
//
// Invariants: a rendering depends on the template and its inputs alone; there is no
// clock. What a template of bounded size comes to is bounded in size, time and memory,
// or there is no rendering.
//
// Goroutines: none in the caller. The process that renders watches its memory in one,
// which ends with it.
//
// State on disk: none.
package jinja
