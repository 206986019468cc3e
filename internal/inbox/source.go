package inbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank"
)

var (
	// errPaused ends reading where it is.
	errPaused = errors.New("paused")
	// errUnread: the disk does not give back what it took.
	errUnread = errors.New("what was sent cannot be read now")
)

// taking is an attempt at taking an upload in.
type taking struct {
	*Inbox
	entry *entry
	files []file
	spool *os.File
	seen  atomic.Int64 // bytes of it that were read
	// What follows is written by who reads, and read when that has ended.
	at     int   // documents, and what is none, that were read
	paused bool  // before the end
	broken error // the spool could not be read
}

// begun opens the spool of an upload.
func (in *Inbox) begun(ctx context.Context, e *entry) (*taking, error) {
	const op = "inbox.begun"
	b, err := in.disk.read(e.ID + recordEnd)
	var r *record
	if err == nil {
		r, err = decodeRecord(b)
	}
	t := &taking{Inbox: in, entry: e}
	if err == nil {
		t.files = r.Files
		t.spool, err = os.Open(in.disk.path(e.ID + spoolEnd))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errDamaged), errors.Is(err, errNewer):
		return nil, lost(op)
	case err != nil:
		return nil, unread(op, err)
	}
	if !e.sound {
		err = t.verify(ctx)
		e.sound = err == nil
	}
	if err != nil {
		t.spool.Close() // it was only read
		return nil, err
	}
	return t, nil
}

// lost says that an upload cannot be taken in any more.
func lost(op string) error {
	return fault.New(fault.Invalid, op, "what was sent is damaged on the disk: send it again")
}

// unread says that it may be taken in later.
func unread(op string, err error) error {
	return fault.New(fault.Unavailable, op, "%w: %w", errUnread, err)
}

// verify reads what another process has written.
func (t *taking) verify(ctx context.Context) error {
	const op = "inbox.verify"
	for _, f := range t.files {
		h := sha256.New()
		var n int64
		for n < f.Size {
			if err := ctx.Err(); err != nil {
				return err
			}
			m, err := io.CopyN(h, t.spool, min(f.Size-n, 1<<20))
			if n += m; errors.Is(err, io.EOF) {
				return lost(op)
			}
			if err != nil {
				return unread(op, err)
			}
		}
		if digest(h.Sum(nil)) != f.Sum {
			return lost(op)
		}
	}
	return nil
}

// read gives the documents of the upload that were not read yet.
func (t *taking) read(ctx context.Context, emit func(*knowledgebank.Source) error, failed func(name string, err error)) error {
	var offset int64
	from := t.entry.from
	for _, f := range t.files {
		part := &watched{r: io.NewSectionReader(t.spool, offset, f.Size), seen: &t.seen}
		offset += f.Size
		err := t.o.Reader.Stream(ctx, f.Name, part, func(s *knowledgebank.Source) error {
			if t.at >= from {
				switch stop, left := t.look(s); {
				case stop:
					return errPaused
				case left: // out
				default:
					if err := emit(s); err != nil {
						return err
					}
				}
			}
			t.at++
			return nil
		}, func(name string, err error) {
			if t.at >= from && part.err == nil {
				failed(name, err)
			}
			t.at++
		})
		switch {
		case errors.Is(err, errPaused):
			t.paused = true
			return nil
		case err != nil:
			return err
		case part.err != nil:
			t.broken = unread("inbox.read", part.err)
			return nil
		}
	}
	return nil
}

// look says whether reading is to pause before a document, or leaves it out.
func (t *taking) look(s *knowledgebank.Source) (pause, leave bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entry.pause != nil, t.holdsBack(t.entry, percached.NewDocumentID(s.Key))
}

// progress hears of what was taken in.
func (t *taking) progress(r ingest.Report) {
	t.mu.Lock()
	t.entry.Report, t.entry.Read = t.entry.report(r), t.seen.Load()
	before, far := t.entry.begun-1, t.entry.Report.Documents()
	// It is not what those before broke off at; or what comes may break off farther on.
	further := far > t.entry.far && (before > 0 || far > 2*max(t.entry.far, someDocuments))
	if further {
		t.entry.far = far
	}
	t.mu.Unlock()
	if further {
		t.mark(t.entry, -before)
	}
}

// watched remembers that something could not be read, of which the reader makes
// a document that failed.
type watched struct {
	r    io.Reader
	seen *atomic.Int64
	err  error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.seen.Add(int64(n))
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}
