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
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/reader"
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
	turn  *turn
	// What follows is written by who reads, and read when that has ended.
	at       place
	expanded int64 // what came out of the file at hand
	paused   bool  // before the end
	gaveWay  bool  // to another space
	broken   error // the spool could not be read
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
	t.at = t.entry.from
	for i, f := range t.files {
		section := io.NewSectionReader(t.spool, offset, f.Size)
		offset += f.Size
		if i < t.at.file {
			t.seen.Add(f.Size)
			continue
		}
		part := &watched{r: section, seen: &t.seen}
		err := t.o.Reader.StreamWithin(ctx, t.bounds(f), f.Name, part, func(s *knowledgebank.Source) error {
			switch stop, left := t.look(s); {
			case stop:
				return errPaused
			case left: // out
			default:
				if err := emit(s); err != nil {
					return err
				}
			}
			t.at.documents++
			return nil
		}, func(name string, err error) {
			if part.err == nil {
				failed(name, err)
			}
			t.at.documents++
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
		t.at = place{file: i + 1, before: t.at.all(), expanded: t.at.expanded + t.expanded}
		t.expanded = 0
	}
	return nil
}

// bounds are those of reading a file, from where the attempt before ended.
func (t *taking) bounds(f file) reader.Bounds {
	const op = "inbox.read"
	return reader.Bounds{
		Skip: t.at.documents, Size: f.Size,
		Next: func() error {
			switch pause, gaveWay := t.pausing(); {
			case pause:
				t.gaveWay = gaveWay
				return errPaused
			case t.at.all() >= t.o.MaxDocuments:
				return fault.New(fault.Invalid, op, "the upload holds more than %d documents, which is the most: what is behind them was not read; send it in parts", t.o.MaxDocuments)
			}
			return nil
		},
		Expand: func(n int) error {
			if t.expanded += int64(n); t.at.expanded+t.expanded > t.o.MaxExpanded {
				return fault.New(fault.Invalid, op, "the compressed files of the upload hold more than %d bytes, which is the most: what is behind them was not read; send it in parts", t.o.MaxExpanded)
			}
			return nil
		},
		Hold: t.memory.document, Unpack: t.memory.pdf,
	}
}

// pausing says whether reading is to pause before the next document, and whether
// that is to give way to another space.
func (t *taking) pausing() (pause, gaveWay bool) {
	t.mu.Lock()
	pause = t.entry.pause != nil
	t.mu.Unlock()
	if pause {
		return true, false
	}
	if t.at == t.entry.from && t.at != (place{}) {
		t.turn.resume()
		return false, false
	}
	over := t.turn.over()
	return over, over
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
