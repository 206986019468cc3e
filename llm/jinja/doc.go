// Package jinja renders the chat templates of models.
//
// Purpose: a model file contains its chat template as a Jinja program. The file may come
// from anywhere, and its template may loop forever or use all memory. So each rendering
// runs in its own process, without access to files or network, and with little time and
// memory; ending that process does no harm.
//
// Invariants: a rendering depends only on the template and its inputs; there is no clock.
// A rendering stays within limits of size, time and memory, or fails.
//
// Goroutines: none in the caller. The rendering process watches its memory in one, which
// ends with it.
//
// State on disk: none.
package jinja
