// Package eval measures percached from outside: how good the answers are, how
// fast they come, how much is reused. It speaks to a running percached through
// api/client and sees nothing else of it.
//
// Purpose: the nouns that its parts speak in. plain reads a set from a folder,
// trial asks its questions and reports, measure has the measures, load puts a
// percached under load.
//
// Invariants: nothing that was to be read or asked is dropped silently: a set
// names what was skipped, a report what failed.
//
// Goroutines: none. State on disk: none.
package eval
