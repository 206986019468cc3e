// Package systems names the systems that are compared: percached, those of the papers
// before it, and percached without each of its parts.
//
// Purpose: Choose returns the systems of a list. All of them are settings of the one
// service, so model, prompts, retrieval and machine are the same for all.
//
// Invariants: Choose adds the reference of each system, which answers the same way without
// a cache. It adds PerCache to a system that does all idle work, because PerCache sets the
// limit for that. Names are unique.
//
// Goroutines: none. State on disk: none.
package systems
