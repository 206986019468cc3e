package inbox

import (
	"context"
	"errors"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

const (
	// A failed attempt is repeated after firstWait, the next after twice as long, and
	// so on.
	firstWait = time.Second
	lastWait  = 5 * time.Minute
	// maxAttempts after errors that give no reason to try again.
	maxAttempts = 5
	// maxUnread attempts to read a spool file: about a day of them.
	maxUnread = 300
	// maxBegun attempts at one place in which the process died.
	maxBegun = 3
	// someDocuments are read before progress is stored for the first time.
	someDocuments = 64
)

// take runs an upload until it ends or has to wait, and says whether it has ended.
func (in *Inbox) take(run context.Context, e *entry, l *lane) (ended bool) {
	ctx, cancel := context.WithCancel(run)
	defer cancel()
	in.mu.Lock()
	if e.gone {
		in.mu.Unlock()
		return false
	}
	e.State, e.Error, e.cancel, e.stopped = Running, "", cancel, make(chan struct{})
	in.mu.Unlock()
	in.notify(e)
	err := in.attempts(ctx, e, l)
	switch {
	case err == nil:
		ended = in.end(e, Done, "")
	case ctx.Err() != nil: // dropped, or the process ends
		in.requeue(e, 0, "")
	case in.spaceGone(e, err):
		ended = in.end(e, Failed, why(err))
	case permanent(err, e.attempts+1):
		in.o.Logger.Error("an upload failed", "id", e.ID, "attempts", e.attempts+1, "error", err)
		ended = in.end(e, Failed, why(err))
	default:
		e.attempts++
		wait := min(lastWait, firstWait<<min(e.attempts-1, 16))
		in.requeue(e, wait, why(err))
		in.o.Logger.Warn("cannot store an upload now; will try again", "id", e.ID, "attempts", e.attempts, "after", wait, "error", err)
	}
	in.mu.Lock()
	close(e.stopped)
	e.cancel, e.stopped = nil, nil
	gone := e.gone
	in.mu.Unlock()
	if !gone {
		in.notify(e)
	} else if run.Err() == nil {
		err := in.o.Library.CatchUp(run, e.Space)
		if err != nil && run.Err() == nil && fault.KindOf(err) != fault.NotFound {
			in.o.Logger.Warn("documents of a cancelled upload may not be found until others are added", "error", err)
		}
	}
	return ended
}

// attempts adds the documents to the library. Each attempt ends at a pause, where the
// next starts.
func (in *Inbox) attempts(ctx context.Context, e *entry, l *lane) error {
	if e.begun >= maxBegun {
		return fault.New(fault.Invalid, "inbox.take", "percached ended %d times while it read this upload, and does not try again: a file in it may be more than this machine can read", e.begun)
	}
	for {
		a, err := in.openAttempt(ctx, e, l)
		if err != nil {
			return err
		}
		in.mark(e, 1)
		in.mu.Lock()
		e.reading = true
		in.mu.Unlock()
		report, err := in.o.Library.Add(ctx, e.Space, a.read, a.progress)
		a.spool.Close() //nolint:errcheck // it was only read
		if err == nil {
			err = a.broken
		}
		in.mu.Lock()
		e.Report = e.total(report)
		if err == nil { // the library has stored all that was read
			e.from, e.base = a.at, e.Report
		}
		e.reading, e.nameless = false, false
		if e.pause != nil {
			close(e.pause)
			e.pause = nil
		}
		in.mu.Unlock()
		if err == nil && !a.stopped {
			return nil
		}
		in.mark(e, -1) // the process survived it
		if err == nil {
			err = l.enter(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// mark stores that an attempt begins, or takes that back: an upload that kills the
// process must not do so at every start.
func (in *Inbox) mark(e *entry, by int) {
	in.writing.Lock()
	defer in.writing.Unlock()
	in.mu.Lock()
	e.begun += by
	begun, far, gone := e.begun, e.far, e.gone
	in.mu.Unlock()
	if gone {
		return
	}
	r, err := in.stored(e.ID)
	var c change
	if err == nil {
		r.Begun, r.Far = begun, far
		c, err = put(keyOf(e.ID), r)
	}
	if err == nil {
		err = in.store.write(c)
	}
	if err != nil { // the disk may be full: the upload continues
		in.o.Logger.Warn("cannot store how often an upload was begun", "id", e.ID, "error", err)
	}
}

// requeue puts an upload back for a later attempt.
func (in *Inbox) requeue(e *entry, wait time.Duration, why string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !e.gone {
		e.State, e.Error = Queued, why
		e.again = in.o.Now().Add(wait)
	}
}

// end stores that an upload has ended and removes its spool file. It returns false
// if the upload was dropped before.
func (in *Inbox) end(e *entry, s State, why string) bool {
	in.writing.Lock()
	defer in.writing.Unlock()
	in.mu.Lock()
	if e.gone {
		in.mu.Unlock()
		return false
	}
	r := &record{
		ID: e.ID, Seq: e.seq, Space: e.Space, Key: e.Key, State: s, Accepted: e.Accepted, Ended: in.o.Now().UTC().Round(0),
		Digest: e.digest, Count: e.Files, Bytes: e.Bytes, Report: e.Report, Error: why, Again: e.deletedToo,
	}
	in.mu.Unlock()
	c, err := put(keyOf(e.ID), r)
	if err == nil {
		err = in.store.write(c)
	}
	if err != nil { // the disk may be full; deleting needs less room
		in.o.Logger.Warn("cannot store how an upload ended: after a restart it is not listed", "id", e.ID, "error", err)
		err = in.store.write(change{key: c.key})
	}
	if err != nil { // with its file it can run again, which changes nothing
		in.o.Logger.Warn("cannot delete the record of an upload that ended: it runs again after a restart", "id", e.ID, "error", err)
	} else {
		in.discard(nil, e.ID+spoolEnd)
	}
	in.mu.Lock()
	e.State, e.Ended, e.Error = s, r.Ended, why
	if s == Done {
		e.Read = e.Bytes
	}
	in.unqueue(e)
	old := in.prune()
	released := in.release()
	in.mu.Unlock()
	in.discard(old)
	if released {
		in.writeWithheld()
	}
	return true
}

// spaceGone says that an upload failed because its space is being forgotten.
func (in *Inbox) spaceGone(e *entry, err error) bool {
	if fault.KindOf(err) != fault.NotFound {
		return false
	}
	if _, err = in.o.Spaces.Space(e.Space); fault.KindOf(err) != fault.NotFound {
		return false
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	e.Dropped = true
	return true
}

// permanent says that trying again is useless.
func permanent(err error, attempts int) bool {
	if errors.Is(err, errUnread) {
		return attempts >= maxUnread
	}
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Overloaded, fault.Timeout:
		return false
	case fault.Internal:
		return attempts >= maxAttempts
	}
	return true
}

// InternalError is why an upload failed if no file of it is to blame.
const InternalError = "internal error; the log of percached says what happened"

// why is an error as clients see it.
func why(err error) string {
	if fault.KindOf(err) == fault.Internal {
		return InternalError
	}
	return fault.Sentence(bare(err))
}
