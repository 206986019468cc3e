// Package folder stores a run on disk, unit by unit, so that an interrupted run can
// continue.
//
// Purpose: Create creates a run's folder, Open opens one, Put adds a unit, Read returns
// the whole run.
//
// Invariants: a file is written whole or not at all. A unit that was put survives a crash.
// A folder of another run is not changed.
//
// Goroutines: none.
//
// State on disk: run.json, with the version of the layout, and units/REPEAT-USER.json, one
// for each unit. The user's name is escaped as in a URL path. A name that is too long for
// a file is cut and gets a hash. The files may hold text of documents, and only their
// owner can read them.
package folder
