// Package persona invents one person's month with the cache: documents that
// arrive, change and go, questions about them, a phone that is charged at night
// and gets hot at noon, limits that are moved.
//
// Purpose: a simulation needs somebody who reads mail and asks little. New draws
// the month of a Profile, Month.Events gives what happens in order, and
// Month.Script plays the language model that reads the person's documents.
//
// Invariants: a month is a pure function of profile, seed and start; nothing
// here reads a clock, a file or the order of a map. A question is asked after
// the document that answers it has come, unless Expect says otherwise. Script
// answers an ordinary question only from the chunks that stand in its prompt, so
// an answer that names what no document says any more was served by mistake. Two
// facts of a kind never share all names that their questions use.
//
// Goroutines: none. State on disk: none; the words in texts/ are part of the
// binary and are parsed by New.
package persona
