// Package folder keeps a run on disk, unit by unit, so that one that was cut off
// goes on where it was.
//
// Purpose: Create begins a run's folder, Open finds one and holds what it says
// against what is to be run, Put adds a unit, Read gives all of it.
//
// Invariants: a file is there as a whole or not at all. A unit that was put is
// there after a crash. A folder of another run is left alone, with the reason.
//
// Goroutines: none.
//
// State on disk: run.json, which names the layout's version, and
// units/REPEAT-USER.json, a unit each; a user's name is escaped as in the path of
// an URL; where that is longer than a file's name may be, it is its beginning and a
// hash. All may hold text of documents and are readable for their owner alone.
package folder
