// Package systems names the ways of answering that are held against each other:
// percached's own, those of the papers before it, and each of its parts left out.
//
// Purpose: Choose gives those that a list names. All of them are settings of the
// one service, so that model, prompts, retrieval and machine are the same for all.
//
// Invariants: with a system comes the one that answers the same without any cache,
// and if it may do all idle work there is, the paper's PerCache, which says how much
// that may be. No name stands for two systems.
//
// Goroutines: none. State on disk: none.
package systems
