package inbox

import (
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// Withhold keeps a document that is to be forgotten from coming out of uploads
// that were accepted before, and are not taken in yet or only in part. Call it
// before the document is deleted: when it returns, none of them is bringing it. If
// the deletion then fails, a newer edition in one of them is lost all the same.
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
		if e.cancel != nil {
			pause = in.pause(e)
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

// Withholds says whether a document that was withheld may still lie in an upload
// that has not ended.
func (in *Inbox) Withholds(space string, id percached.DocumentID) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.ContainsFunc(in.withheld, func(w withheld) bool { return w.Document == id && w.Space == space })
}

// pause asks an upload that is running to pause; the channel is closed when it
// does. The caller holds mu.
func (in *Inbox) pause(e *entry) <-chan struct{} {
	if e.pause == nil {
		e.pause = make(chan struct{})
	}
	return e.pause
}

// resume tells those who asked for a pause that nothing is under way. The caller
// holds mu.
func (in *Inbox) resume(e *entry) {
	if e.pause != nil {
		close(e.pause)
		e.pause = nil
	}
}

// holdsBack says whether a document must not come out of an upload. The caller
// holds mu.
func (in *Inbox) holdsBack(e *entry, id percached.DocumentID) bool {
	return slices.ContainsFunc(in.withheld, func(w withheld) bool {
		return w.Document == id && w.Space == e.Space && e.seq <= w.Upto
	})
}

// release strikes out what no upload can bring any more, and says whether that
// was anything. The caller holds mu.
func (in *Inbox) release() bool {
	before := len(in.withheld)
	in.withheld = slices.DeleteFunc(in.withheld, func(w withheld) bool {
		return !slices.ContainsFunc(in.queue, func(e *entry) bool { return e.Space == w.Space && e.seq <= w.Upto })
	})
	return len(in.withheld) < before
}

// writeWithheld writes down which documents are withheld. Where there is no room
// for it, it holds as long as this process does. The caller holds writing.
func (in *Inbox) writeWithheld() {
	in.mu.Lock()
	all := slices.Clone(in.withheld)
	in.mu.Unlock()
	b, err := seal("withheld", withheldFile{all})
	switch {
	case err != nil:
	case len(all) == 0:
		err = in.disk.remove(withheldName)
	default:
		err = in.disk.replace(withheldName, b)
	}
	if err != nil {
		in.o.Logger.Warn("documents that were forgotten may come back with uploads that are begun again after a crash: it could not be written down", "error", err)
	}
}
