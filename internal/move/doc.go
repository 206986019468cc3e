// Package move moves a space from one daemon to another while both run.
//
// Purpose: Move.Run makes the space read-only, copies it, compares both copies, and has the first
// daemon redirect clients to the second.
//
// Invariants: after an error the space is where it was and accepts changes, or the error says
// what is left. A change that the first daemon acknowledged is in the copy.
//
// Goroutines: one copies; it ends with Run.
//
// State on disk: none of its own; the settings read_only and moved_to of the space.
package move
