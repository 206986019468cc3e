package inbox

import (
	"context"
	"time"

	"github.com/percached/percached/internal/ingest"
)

// State of an upload.
type State string

// The states.
const (
	Queued  State = "queued"
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
)

func (s State) ended() bool { return s == Done || s == Failed }

// Upload is what one request sent, with its current state. Do not change what it
// points to.
type Upload struct {
	ID       string
	Space    string
	Key      string // the client's own name for it, or empty
	State    State
	Accepted time.Time
	Ended    time.Time
	Files    int
	Bytes    int64
	// Read counts the bytes that were read while it is running.
	Read int64
	// Report counts the documents so far. Documents that an interrupted attempt
	// stored count as unchanged.
	Report ingest.Report
	// Error says why it failed, or why it waits while it is queued.
	Error string
	// Dropped says that it failed because of Cancel or because its space is gone.
	Dropped bool
}

// entry is an upload with what the inbox needs of it. Inbox.mu guards all fields
// that change.
type entry struct {
	Upload
	seq      uint64
	digest   string
	over     chan struct{} // closed when it ended or was dropped
	verified bool          // this process wrote the spool file or checked its hash
	ready    bool          // Moved has heard that it is queued

	attempts int       // that failed
	again    time.Time // not before
	begun    int       // attempts at one place that no process saw the end of
	far      int       // documents that those looked at, or fewer

	deletedToo bool // see AcceptAgain

	gone bool // it was dropped

	// While it is running:
	cancel  context.CancelFunc
	stopped chan struct{} // closed when it stops running
	reading bool          // an attempt is under way
	pause   chan struct{} // that attempt is asked to end; closed when it has
	// from is where the next attempt starts, base the report up to there.
	from place
	base ingest.Report
	// nameless: the running attempt reports no names.
	nameless bool
}

// place is a position in an upload.
type place struct {
	file      int   // to read next
	documents int   // of it that were read, with those that cannot be
	before    int   // documents of the files before it
	expanded  int64 // bytes out of the compressed files before it
}

func (p place) all() int { return p.before + p.documents }

func newEntry(r *record) *entry {
	e := &entry{
		Upload: Upload{
			ID: r.ID, Space: r.Space, Key: r.Key, State: r.State, Accepted: r.Accepted, Ended: r.Ended,
			Files: r.Count, Bytes: r.Bytes, Report: r.Report, Error: r.Error,
		},
		seq: r.Seq, digest: r.Digest, over: make(chan struct{}), begun: r.Begun, far: r.Far, deletedToo: r.Again,
	}
	if r.State == Done {
		e.Read = e.Bytes
	}
	if r.State.ended() {
		close(e.over)
	}
	return e
}

// total is the report of all attempts. The caller holds mu.
func (e *entry) total(attempt ingest.Report) ingest.Report {
	if e.nameless {
		attempt = withoutNames(attempt)
	}
	a, b := e.base, attempt
	return ingest.Report{
		Added: a.Added + b.Added, Unchanged: a.Unchanged + b.Unchanged, Replaced: a.Replaced + b.Replaced, Failed: a.Failed + b.Failed,
		Chunks: a.Chunks + b.Chunks, Notes: a.Notes + b.Notes, Deleted: a.Deleted + b.Deleted,
		Failures: join(a.Failures, b.Failures), LeftOut: join(a.LeftOut, b.LeftOut),
	}
}

// maxNamed failures are in one report, as in the library's.
const maxNamed = 1000

func join(a, b []ingest.Failure) []ingest.Failure {
	if len(a) == 0 {
		return b
	}
	all := append(a[:len(a):len(a)], b...)
	return all[:min(len(all), maxNamed)]
}

func withoutNames(r ingest.Report) ingest.Report {
	r.Failures, r.LeftOut = nil, nil
	return r
}
