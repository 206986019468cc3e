// Package eval measures percached from outside: how good the answers are, how
// fast they come, how much is reused. It speaks to a running percached through
// api/client and sees nothing else of it.
//
// Purpose: the nouns that its parts speak in. enronqa, mised and plain read data,
// systems are what is compared, trial leads a run, folder keeps it, measure has the
// measures, report and figure show what came of it, selfcheck says whether all that
// is right, load puts a percached under load.
//
// Invariants: nothing that was to be read or asked is dropped silently: a set
// names what was skipped, a report what failed.
//
// Goroutines: none. State on disk: none.
package eval
