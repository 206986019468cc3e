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

// take runs an upload until it ends, has to wait or yields, and says whether it has
// ended.
func (in *Inbox) take(lane context.Context, e *entry, turn *turn) (ended bool) {
	ctx, cancel := context.WithCancel(lane)
	defer cancel()
	in.mu.Lock()
	if e.gone {
		in.mu.Unlock()
		return false
	}
	yielded := e.State == Running
	e.State, e.Error, e.cancel, e.stopped = Running, "", cancel, make(chan struct{})
	begun := e.begun
	in.mu.Unlock()
	if !yielded {
		in.notify(e)
	}
	var err error
	yielded = false
	if begun >= maxBegun {
		err = fault.New(fault.Invalid, "inbox.take", "percached ended %d times while it read this upload, and does not try again: a file in it may be more than this machine can read", begun)
	} else {
		in.mark(e, 1)
		if yielded, err = in.attempts(ctx, e, turn); yielded || err != nil {
			in.mark(e, -1) // the process survived it
		}
	}
	switch {
	case yielded:
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
	e.cancel, e.stopped, e.nameless = nil, nil, false
	in.paused(e) // for those who asked since it stopped
	gone := e.gone
	in.mu.Unlock()
	switch {
	case gone && lane.Err() == nil:
		err := in.o.Library.CatchUp(lane, e.Space)
		if err != nil && lane.Err() == nil && fault.KindOf(err) != fault.NotFound {
			in.o.Logger.Warn("documents of a cancelled upload may not be found until others are added", "error", err)
		}
	case !gone && !yielded:
		in.notify(e)
	}
	return ended
}

// attempts adds the documents to the library. Each attempt ends at a pause, where
// the next starts. It says whether the upload yielded to another space.
func (in *Inbox) attempts(ctx context.Context, e *entry, turn *turn) (yielded bool, err error) {
	for {
		a, err := in.openAttempt(ctx, e)
		if err != nil {
			return false, err
		}
		a.turn = turn
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
		e.nameless = false
		in.paused(e)
		in.mu.Unlock()
		if err != nil || !a.stopped || a.yielded {
			return a.yielded && err == nil, err
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
		in.o.Logger.Warn("how often an upload was begun could not be written down", "id", e.ID, "error", err)
	}
}

// requeue puts an upload back for a later attempt.
func (in *Inbox) requeue(e *entry, wait time.Duration, why string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.paused(e)
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
	in.paused(e)
	if e.gone {
		in.mu.Unlock()
		return false
	}
	r := &record{
		ID: e.ID, Seq: e.seq, Space: e.Space, Key: e.Key, State: s, Accepted: e.Accepted, Ended: in.o.Now().UTC().Round(0),
		Digest: e.digest, Count: e.Files, Bytes: e.Bytes, Report: e.Report, Error: why,
	}
	in.mu.Unlock()
	c, err := put(keyOf(e.ID), r)
	if err == nil {
		err = in.store.write(c)
	}
	if err != nil { // the disk may be full; deleting needs less room
		in.o.Logger.Warn("how an upload ended could not be written down: after a restart it is not listed", "id", e.ID, "error", err)
		err = in.store.write(change{key: c.key})
	}
	if err != nil { // with its file it can run again, which changes nothing
		in.o.Logger.Warn("the record of an upload that ended could not be deleted: it runs again after a restart", "id", e.ID, "error", err)
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

// why is an error as clients see it.
func why(err error) string {
	if fault.KindOf(err) == fault.Internal {
		return "internal error; the log of percached says what happened"
	}
	err = bare(err)
	for {
		f, ok := err.(*fault.Error)
		if !ok {
			return err.Error()
		}
		err = f.Err
	}
}
