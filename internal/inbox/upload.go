package inbox

import (
	"context"
	"time"

	"github.com/percached/percached/internal/ingest"
)

// State says how far an upload is.
type State string

// The states.
const (
	Queued  State = "queued"
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
)

func (s State) over() bool { return s == Done || s == Failed }

// Upload is what was sent together, as it stands. What it points to is not to be
// changed.
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
	// Report is what became of the documents so far. What an attempt that was
	// cut short had taken in counts as unchanged.
	Report ingest.Report
	// Error says why it failed; of one that is queued, why it has to wait.
	Error string
	// Dropped says that it failed as somebody cancelled it, or forgot its space.
	Dropped bool
}

// entry is an upload with all that is known of it. All but what never changes is
// guarded by Inbox.mu.
type entry struct {
	Upload
	seq    uint64
	digest digest
	over   chan struct{} // closed when it has ended, or was dropped
	sound  bool          // this process wrote the spool, or has read it through
	ready  bool          // it may be taken in: Moved was told that it is there

	attempts int       // that failed
	again    time.Time // not before
	begun    int       // attempts, in all processes, whose end none has seen, since one got further than those before
	far      int       // documents that those had looked at, or fewer

	gone bool // it was dropped

	// While it is running:
	cancel  context.CancelFunc
	stopped chan struct{} // closed when it runs no more
	pause   chan struct{} // asked to pause; closed when it does, or runs no more
	// from is how far it was read, in attempts that came to a clean end, and base is
	// what became of that.
	from place
	base ingest.Report
	// nameless: names that come up in the attempt under way are forgotten.
	nameless bool
}

// place is how far an upload was read.
type place struct {
	file      int   // that is read next
	documents int   // of it that were read, and what cannot be
	before    int   // those of the files before it
	expanded  int64 // what came out of the compressed files before it
}

// all are the documents before the place, and what cannot be read.
func (p place) all() int { return p.before + p.documents }

// report is what became of the documents, in all attempts. The caller holds mu.
func (e *entry) report(of ingest.Report) ingest.Report {
	if e.nameless {
		of = nameless(of)
	}
	return plus(e.base, of)
}

// maxNamed is how many failures a report names, as the library has it.
const maxNamed = 1000

// plus adds up two reports.
func plus(a, b ingest.Report) ingest.Report {
	return ingest.Report{
		Added: a.Added + b.Added, Unchanged: a.Unchanged + b.Unchanged, Replaced: a.Replaced + b.Replaced, Failed: a.Failed + b.Failed,
		Chunks: a.Chunks + b.Chunks, Notes: a.Notes + b.Notes,
		Failures: join(a.Failures, b.Failures), LeftOut: join(a.LeftOut, b.LeftOut),
	}
}

func join(a, b []ingest.Failure) []ingest.Failure {
	if len(a) == 0 {
		return b
	}
	all := append(a[:len(a):len(a)], b...)
	return all[:min(len(all), maxNamed)]
}

// nameless is a report without the names of documents.
func nameless(r ingest.Report) ingest.Report {
	r.Failures, r.LeftOut = nil, nil
	return r
}
