package telemetry

// State is how things stand when somebody scrapes. Counts are over all spaces.
type State struct {
	Tensors Room // slices
	Bank    Room // entries
	Disk    Room // what the files of the slices really take

	Slices int
	// Entries of the bank. Answered ones have an answer, stale ones one that must
	// be made anew.
	Entries, Answered, Stale int

	Spaces, Documents, Chunks int

	Queue  map[string]int     // jobs that wait, by kind
	Parked int                // jobs that failed too often
	Idle   string             // working, idle, waiting, paused
	Ledger map[string]Account // by kind of job

	Uploads   int // not yet in
	Questions int // that wait for the engine
	Listeners int // of events
}

// Room is how many bytes something takes, and may take.
type Room struct{ Bytes, Limit int64 }

// Account is what jobs of a kind cost and saved, in seconds, as far back as the
// ledger was asked.
type Account struct{ Spent, Saved float64 }
