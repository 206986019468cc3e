// Package persona invents a month of one user: documents that arrive, change and are
// deleted, questions about them, a phone that charges at night and gets hot at noon, and
// changing limits.
//
// Purpose: input for the simulation. New draws the month of a Profile, Month.Events returns
// its events in order, and Month.Script replaces the language model that reads the user's
// documents.
//
// Invariants: a month is a pure function of profile, seed and start; nothing here reads a
// clock, a file or the order of a map. A question is asked after the document that answers
// it has arrived, unless Expect says otherwise. Script answers an ordinary question only
// from the chunks of its prompt, so an outdated answer was served by mistake. Two facts of
// a kind never share all names that their questions use.
//
// Goroutines: none. State on disk: none; the words in texts/ are part of the
// binary and are parsed by New.
package persona
