package inbox

import (
	"errors"
	"os"

	"github.com/percached/percached/internal/base/fault"
)

// Forget makes what is told of uploads of a space forgotten, as it may name
// documents that were: uploads that ended are not known any more, and one that runs
// keeps of what became of its documents by now the counts only.
func (in *Inbox) Forget(space string) error {
	in.writing.Lock()
	defer in.writing.Unlock()
	var names []string
	in.mu.Lock()
	for _, e := range in.uploads {
		switch {
		case e.Space != space:
		case e.State.over():
			in.drop(e)
			names = append(names, e.ID+recordEnd)
		default:
			e.base, e.Report = nameless(e.base), nameless(e.Report)
			if e.cancel != nil { // what comes up in the attempt after this one is kept
				e.nameless = true
				in.pause(e)
			}
		}
	}
	in.mu.Unlock()
	return fault.Wrap("inbox.Forget", in.erase(names))
}

// erase removes files for good, and with them what nobody knows whose it was. The
// caller holds writing.
func (in *Inbox) erase(names []string) error {
	const op = "inbox.erase"
	in.mu.Lock()
	aside := in.aside
	in.mu.Unlock()
	if len(names) == 0 && !aside {
		return nil
	}
	for _, name := range names {
		if err := in.disk.remove(name); err != nil {
			return unavailable(op, err)
		}
	}
	if aside {
		if err := os.RemoveAll(in.disk.path(damagedName)); err != nil {
			return unavailable(op, err)
		}
		in.mu.Lock()
		in.aside = false
		in.mu.Unlock()
	}
	if err := in.disk.sync(); err != nil {
		return unavailable(op, err)
	}
	return nil
}

// DropSpace makes all uploads of a space unknown, for when it is forgotten: what
// is being sent is refused, what is queued goes, and what is running is stopped
// first. Who waits for one is told that it failed.
func (in *Inbox) DropSpace(space string) error {
	const op = "inbox.DropSpace"
	d := &dropping{Inbox: in, gone: fault.New(fault.NotFound, op, "the space %q was forgotten", space)}
	return fault.Wrap(op, d.all(func() {
		for _, e := range in.uploads {
			if e.Space == space {
				d.upload(e)
			}
		}
		for s := range in.sending {
			if s.space == space {
				d.sender(s)
			}
		}
	}))
}

// Cancel makes an upload unknown: what is in of it stays, the rest is not taken in.
// Who waits for it is told that it failed.
func (in *Inbox) Cancel(space, id string) error {
	const op = "inbox.Cancel"
	if _, err := in.Get(space, id); err != nil {
		return fault.Wrap(op, err)
	}
	d := &dropping{Inbox: in, gone: fault.New(fault.NotFound, op, "the upload was cancelled")}
	return fault.Wrap(op, d.all(func() {
		if e := in.uploads[id]; e != nil { // else it went meanwhile
			d.upload(e)
		}
	}))
}

// all drops what choose does, which is called with mu held.
func (d *dropping) all(choose func()) error {
	in := d.Inbox
	in.writing.Lock()
	in.mu.Lock()
	choose()
	released := in.release()
	in.mu.Unlock()
	if released {
		in.writeWithheld()
	}
	// Before what is running has ended, which may take long: after a crash it is not
	// begun again.
	err := in.erase(d.names)
	in.writing.Unlock() // or what is running could not end
	for _, c := range d.ends {
		<-c
	}
	for _, e := range d.cut {
		in.tell(e)
	}
	in.writing.Lock()
	defer in.writing.Unlock()
	return errors.Join(err, in.erase(d.late))
}

// dropping is a DropSpace or a Cancel under way.
type dropping struct {
	*Inbox
	gone  error
	cut   []*entry          // that had not ended
	names []string          // of files, each record before its spool
	late  []string          // of those that are in use
	ends  []<-chan struct{} // to wait for
}

// upload drops an upload. The caller holds mu.
func (d *dropping) upload(e *entry) {
	d.drop(e)
	d.names = append(d.names, e.ID+recordEnd)
	e.gone = true
	if e.cancel != nil {
		e.cancel()
		d.ends = append(d.ends, e.stopped)
		d.late = append(d.late, e.ID+spoolEnd)
	} else {
		d.names = append(d.names, e.ID+spoolEnd)
	}
	if !e.State.over() {
		e.State, e.Dropped, e.Error, e.Ended = Failed, true, why(d.gone), d.o.Now().UTC().Round(0)
		close(e.over)
		d.cut = append(d.cut, e)
	}
}

// sender refuses what is being sent. The caller holds mu.
func (d *dropping) sender(s *sending) {
	s.refuse(d.gone)
	if s.committing {
		d.ends = append(d.ends, s.done)
		d.late = append(d.late, s.id+recordEnd, s.id+spoolEnd)
	} else { // its sender may take long to see it
		d.names = append(d.names, s.id+spoolEnd, s.id+bodyEnd+partEnd)
	}
}
