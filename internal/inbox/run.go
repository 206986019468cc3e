package inbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

const (
	// An upload that fails waits for so long, then for twice as long, and so on.
	firstWait = time.Second
	lastWait  = 5 * time.Minute
	// maxAttempts at what nobody gave a reason to try again.
	maxAttempts = 5
	// maxUnread attempts at what the disk does not give back: about a day of them.
	maxUnread = 300
	// maxBegun attempts at one place that nobody has seen the end of: the process hung
	// in them, or died.
	maxBegun = 3
	// someDocuments is after how many it is first written down how far an attempt is.
	someDocuments = 64
)

// take takes an upload in, as far as it goes now, and says whether it has ended.
func (in *Inbox) take(lane context.Context, e *entry, turn *turn) (ended bool) {
	ctx, cancel := context.WithCancel(lane)
	defer cancel()
	in.mu.Lock()
	if e.gone {
		in.mu.Unlock()
		return false
	}
	anew := e.State != Running // it did not give way before
	e.State, e.Error, e.cancel, e.stopped = Running, "", cancel, make(chan struct{})
	err := worn(e.begun)
	in.mu.Unlock()
	if anew {
		in.tell(e)
	}
	gaveWay := false
	if err == nil {
		in.mark(e, 1)
		if gaveWay, err = in.attempts(ctx, e, turn); gaveWay || err != nil {
			in.mark(e, -1) // it came back
		}
	}
	switch {
	case gaveWay:
	case err == nil:
		ended = in.end(e, Done, "")
	case ctx.Err() != nil: // dropped, or all is ending
		in.stop(e, 0, "")
	case in.homeless(e, err):
		ended = in.end(e, Failed, why(err))
	case lasting(err, e.attempts+1):
		in.o.Logger.Error("an upload failed", "id", e.ID, "attempts", e.attempts+1, "error", err)
		ended = in.end(e, Failed, why(err))
	default:
		e.attempts++
		wait := min(lastWait, firstWait<<min(e.attempts-1, 16))
		in.stop(e, wait, why(err))
		in.o.Logger.Warn("an upload could not be taken in now, and is tried again", "id", e.ID, "attempts", e.attempts, "after", wait, "error", err)
	}
	in.mu.Lock()
	close(e.stopped)
	e.cancel, e.stopped, e.nameless = nil, nil, false
	in.resume(e) // whoever asked since it stopped
	gone := e.gone
	in.mu.Unlock()
	switch {
	case gone && lane.Err() == nil:
		in.catchUp(lane, e.Space)
	case !gone && !gaveWay:
		in.tell(e)
	}
	return ended
}

// catchUp has documents found that were in when their upload was cancelled.
func (in *Inbox) catchUp(ctx context.Context, space string) {
	err := in.o.Library.CatchUp(ctx, space)
	if err != nil && ctx.Err() == nil && fault.KindOf(err) != fault.NotFound {
		in.o.Logger.Warn("documents of an upload that was cancelled may not be found until the next are added", "kind", fault.KindOf(err), "error", err)
	}
}

// homeless says that an upload failed as its space is being forgotten, and notes it.
func (in *Inbox) homeless(e *entry, err error) bool {
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

// attempts takes an upload in; each attempt ends at a pause, and the next goes on
// from there. It says whether the upload gave way to another space before its end.
func (in *Inbox) attempts(ctx context.Context, e *entry, turn *turn) (gaveWay bool, err error) {
	for {
		t, err := in.begun(ctx, e)
		if err != nil {
			return false, err
		}
		t.turn = turn
		report, err := in.o.Library.Add(ctx, e.Space, t.read, t.progress)
		t.spool.Close() // it was only read
		if err == nil {
			err = t.broken
		}
		in.mu.Lock()
		e.Report = e.report(report)
		if err == nil { // nothing of what was read is on the way any more
			e.from, e.base = t.at, e.Report
		}
		e.nameless = false
		in.resume(e)
		in.mu.Unlock()
		if err != nil || !t.paused || t.gaveWay {
			return t.gaveWay && err == nil, err
		}
	}
}

// worn says that an upload was begun often enough.
func worn(begun int) error {
	if begun < maxBegun {
		return nil
	}
	return fault.New(fault.Invalid, "inbox.take", "percached ended %d times while it took this upload in, and does not try again: a file in it may be more than this machine can read", begun)
}

// mark counts an attempt that begins, or takes back those that do not count, and
// writes that down: an upload that the process hangs in, or dies of, is not begun
// at every start for ever.
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
	name := e.ID + recordEnd
	b, err := in.disk.read(name)
	var r *record
	if err == nil {
		r, err = decodeRecord(b)
	}
	if err == nil {
		r.Begun, r.Far = begun, far
		b, err = seal("upload", r)
	}
	if err == nil {
		err = in.disk.replace(name, b)
	}
	if err != nil { // there may be no room: the upload goes on
		in.o.Logger.Warn("how often an upload was begun could not be written down", "id", e.ID, "error", err)
	}
}

// stop puts an upload back, to be begun again not before a while.
func (in *Inbox) stop(e *entry, wait time.Duration, why string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.resume(e)
	if e.gone {
		return
	}
	e.State, e.Error = Queued, why
	e.again = in.o.Now().Add(wait)
}

// end writes down that an upload has ended, and removes its spool. It says whether
// it was to end still.
func (in *Inbox) end(e *entry, s State, why string) bool {
	in.writing.Lock()
	defer in.writing.Unlock()
	in.mu.Lock()
	in.resume(e)
	if e.gone {
		in.mu.Unlock()
		return false
	}
	r := e.record()
	in.mu.Unlock()
	r.State, r.Ended, r.Error = s, in.o.Now().UTC().Round(0), why
	b, err := seal("upload", r)
	if err == nil {
		err = in.disk.replace(e.ID+recordEnd, b)
	}
	if err != nil { // there may be no room; what is left would begin it again
		in.o.Logger.Warn("how an upload ended could not be written down: after a restart it will not be known", "id", e.ID, "error", err)
		in.discard(e.ID + recordEnd)
		if err := in.disk.sync(); err != nil {
			in.o.Logger.Warn("the inbox's folder could not be synced", "error", err)
		}
	}
	in.discard(e.ID + spoolEnd)
	in.mu.Lock()
	e.State, e.Ended, e.Error = s, r.Ended, why
	if s == Done {
		e.Read = e.Bytes
	}
	in.unqueue(e)
	old := in.prune()
	released := in.release()
	in.mu.Unlock()
	in.discard(old...)
	if released {
		in.writeWithheld()
	}
	return true
}

// tell tells the observer of an upload as it stands.
func (in *Inbox) tell(e *entry) {
	in.mu.Lock()
	u := e.Upload
	in.mu.Unlock()
	if in.o.Observer.Moved != nil {
		in.o.Observer.Moved(u)
	}
}

// lasting says whether trying again is of no use.
func lasting(err error, attempts int) bool {
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

// why is an error as a client is told of it.
func why(err error) string {
	if fault.KindOf(err) == fault.Internal {
		return "something failed within percached; its log says what"
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err.Error()
	}
	for {
		f, ok := err.(*fault.Error)
		if !ok {
			return err.Error()
		}
		err = f.Err
	}
}
