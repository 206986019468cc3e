package inbox

import (
	"context"
	"errors"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// Forget forgets reports of a space's uploads, which may name forgotten documents:
// uploads that ended are not listed any more, and a running one keeps its counts
// only.
func (in *Inbox) Forget(space string) error {
	return fault.Wrap("inbox.Forget", in.remove(space, func() (records []change, files []string) {
		for _, e := range in.uploads {
			switch {
			case e.Space != space:
			case e.State.ended():
				records = append(records, in.forgetEntry(e))
			default:
				e.base, e.Report = withoutNames(e.base), withoutNames(e.Report)
				if e.reading { // names of the attempt after this one are new
					e.nameless = true
					in.askPause(e)
				}
			}
		}
		return records, nil
	}))
}

// DropSpace fails and forgets all uploads of a space that is being forgotten, and
// refuses those that are being sent.
func (in *Inbox) DropSpace(space string) error {
	const op = "inbox.DropSpace"
	gone := fault.New(fault.NotFound, op, "the space %q was forgotten", space)
	return fault.Wrap(op, in.drop(space, gone, func(in, _ string) bool { return in == space }))
}

// Cancel fails and forgets an upload. Documents that are stored by then stay.
func (in *Inbox) Cancel(space, id string) error {
	const op = "inbox.Cancel"
	if _, err := in.Get(space, id); err != nil {
		return fault.Wrap(op, err)
	}
	gone := fault.New(fault.NotFound, op, "the upload was cancelled")
	return fault.Wrap(op, in.drop(space, gone, func(_, upload string) bool { return upload == id }))
}

// drop removes the chosen uploads of a space from memory and disk, and returns when none of them
// runs any more. After a crash none starts again.
func (in *Inbox) drop(owner string, gone error, chosen func(space, id string) bool) error {
	var cut []*entry
	var stopped []<-chan struct{}
	err := in.remove(owner, func() (records []change, files []string) {
		for _, e := range in.uploads {
			if !chosen(e.Space, e.ID) {
				continue
			}
			records = append(records, in.forgetEntry(e))
			files = append(files, e.ID+spoolEnd)
			e.gone = true
			if e.cancel != nil {
				e.cancel()
				stopped = append(stopped, e.stopped)
			}
			if !e.State.ended() {
				e.State, e.Dropped, e.Error, e.Ended = Failed, true, why(gone), in.o.Now().UTC().Round(0)
				close(e.over)
				cut = append(cut, e)
			}
		}
		for s := range in.sending {
			if chosen(s.space, s.id) { // its sender may take long to notice
				s.refuse(gone)
				files = append(files, s.id+spoolEnd, s.id+bodyEnd)
			}
		}
		return records, files
	})
	for _, c := range stopped {
		<-c
	}
	for _, e := range cut {
		in.notify(e)
	}
	return err
}

// remove deletes the records and files of a space that choose returns, so that the next CleanUp
// leaves no byte of them. Choose runs with mu held.
func (in *Inbox) remove(space string, choose func() (records []change, files []string)) error {
	// Without the caller's ctx: what began to be forgotten is forgotten.
	return in.o.Library.RemoveFromMeta(context.Background(), space, func() error {
		in.writing.Lock()
		defer in.writing.Unlock()
		in.mu.Lock()
		records, files := choose()
		released := in.release()
		in.mu.Unlock()
		if released {
			in.writeWithheld()
		}
		err := in.store.write(records...)
		if len(files) > 0 {
			err = errors.Join(err, in.disk.remove(files...), in.disk.sync())
		}
		if err != nil {
			return unavailable("inbox.remove", err)
		}
		return nil
	})
}

// Withhold keeps a document that is to be forgotten from coming out of uploads that
// were accepted before and have not ended. Call it before the document is deleted:
// when it returns, none of them is bringing it. If the deletion then fails, a newer
// edition in one of them is lost all the same.
func (in *Inbox) Withhold(ctx context.Context, space string, id percached.DocumentID) error {
	in.writing.Lock()
	in.mu.Lock()
	var upto uint64
	var pause <-chan struct{}
	for _, e := range in.queue {
		if e.Space != space {
			continue
		}
		upto = max(upto, e.seq)
		if e.reading {
			pause = in.askPause(e)
		}
	}
	if upto > 0 {
		in.withheld = append(in.withheld, withheld{space, id, upto})
	}
	in.mu.Unlock()
	if upto > 0 {
		in.writeWithheld()
	}
	in.writing.Unlock()
	if pause == nil {
		return nil
	}
	select {
	case <-pause:
		return nil
	case <-ctx.Done():
		return fault.Wrap("inbox.Withhold", ctx.Err())
	}
}

// Withholds says whether an upload that has not ended may contain a document that
// was withheld.
func (in *Inbox) Withholds(space string, id percached.DocumentID) bool {
	return in.isWithheld(space, id, 0)
}

// WithholdsAny says whether Withholds would say so of any document of a space.
func (in *Inbox) WithholdsAny(space string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.ContainsFunc(in.withheld, func(w withheld) bool { return w.Space == space })
}

// isWithheld says whether an upload with this sequence number must not bring a document.
func (in *Inbox) isWithheld(space string, id percached.DocumentID, seq uint64) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.ContainsFunc(in.withheld, func(w withheld) bool { return w.Document == id && w.Space == space && seq <= w.Upto })
}

// askPause asks the attempt under way to end and returns a channel that is closed when
// it has. The caller holds mu.
func (in *Inbox) askPause(e *entry) <-chan struct{} {
	if e.pause == nil {
		e.pause = make(chan struct{})
	}
	return e.pause
}

// release drops documents from the list that no upload can bring any more, and says
// whether there were any. The caller holds mu, or is Open.
func (in *Inbox) release() bool {
	before := len(in.withheld)
	in.withheld = slices.DeleteFunc(in.withheld, func(w withheld) bool {
		return !slices.ContainsFunc(in.queue, func(e *entry) bool { return e.Space == w.Space && e.seq <= w.Upto })
	})
	return len(in.withheld) < before
}

// writeWithheld stores the list of withheld documents. If that fails, the list is
// valid until the process ends. The caller holds writing, or is Open.
func (in *Inbox) writeWithheld() {
	in.mu.Lock()
	c, err := change{key: withheldKey}, error(nil)
	if len(in.withheld) > 0 {
		c, err = put(withheldKey, withheldList{in.withheld})
	}
	in.mu.Unlock()
	if err == nil {
		err = in.store.write(c)
	}
	if err != nil {
		in.o.Logger.Warn("cannot store the list of forgotten documents: after a crash, waiting uploads may bring them back", "error", err)
	}
}
