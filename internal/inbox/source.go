package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"sync/atomic"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/sealed"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/reader"
)

var (
	// errPaused ends reading at a document.
	errPaused = errors.New("paused")
	// errUnread: the disk does not return what was written to it.
	errUnread = errors.New("cannot read the upload now")
)

// attempt reads the documents of an upload from where the attempt before ended.
type attempt struct {
	*Inbox
	entry *entry
	files []file
	spool *kept
	seen  atomic.Int64 // bytes of it that were read
	lane  *lane
	// The reader writes what follows; others look when it has ended.
	at       place
	expanded int64 // bytes out of the current file
	stopped  bool  // before the end
	broken   error // the spool file cannot be read
}

func (in *Inbox) openAttempt(ctx context.Context, e *entry, l *lane) (*attempt, error) {
	const op = "inbox.openAttempt"
	a := &attempt{Inbox: in, entry: e, lane: l}
	r, err := in.stored(e.ID)
	if err == nil {
		a.files = r.Files
		a.spool, err = in.disk.open(e.ID + spoolEnd)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, sealed.ErrDamaged), errors.Is(err, encryption.ErrDamaged), fault.KindOf(err) == fault.NotFound:
		return nil, lost(op)
	case err != nil:
		return nil, unread(op, err)
	}
	if !e.verified {
		err = a.verify(ctx)
		e.verified = err == nil
	}
	if err != nil {
		a.spool.Close() //nolint:errcheck // it was only read
		return nil, err
	}
	return a, nil
}

// lost is a permanent error.
func lost(op string) error {
	return fault.New(fault.Invalid, op, "the upload is damaged on disk: send it again")
}

// unread is an error that may pass.
func unread(op string, err error) error {
	return fault.New(fault.Unavailable, op, "%w: %w", errUnread, err)
}

// verify checks what another process has written.
func (a *attempt) verify(ctx context.Context) error {
	const op = "inbox.verify"
	for _, f := range a.files {
		h := sha256.New()
		var n int64
		for n < f.Size {
			if err := ctx.Err(); err != nil {
				return err
			}
			m, err := io.CopyN(h, a.spool, min(f.Size-n, 1<<20))
			if n += m; errors.Is(err, io.EOF) || errors.Is(err, encryption.ErrDamaged) {
				return lost(op)
			}
			if err != nil {
				return unread(op, err)
			}
		}
		if hex.EncodeToString(h.Sum(nil)) != f.Sum {
			return lost(op)
		}
	}
	return nil
}

// read emits the documents that were not read yet.
func (a *attempt) read(ctx context.Context, emit func(*knowledgebank.Source) error, failed func(name string, err error)) error {
	var offset int64
	a.at = a.entry.from
	for i, f := range a.files {
		section := io.NewSectionReader(a.spool, offset, f.Size)
		offset += f.Size
		if i < a.at.file {
			a.seen.Add(f.Size)
			continue
		}
		part := &watched{r: section, seen: &a.seen}
		err := a.o.Reader.StreamWithin(ctx, a.bounds(f), f.Name, part, func(s *knowledgebank.Source) error {
			if a.askedToPause() {
				return errPaused
			}
			s.Again = a.entry.deletedToo
			if !a.isWithheld(a.entry.Space, percached.NewDocumentID(s.Key), a.entry.seq) {
				if err := emit(s); err != nil {
					return err
				}
			}
			a.at.documents++
			return nil
		}, func(name string, err error) {
			if part.err == nil {
				failed(name, err)
			}
			a.at.documents++
		})
		switch {
		case errors.Is(err, errPaused):
			a.stopped = true
			return nil
		case err != nil:
			return err
		case part.err != nil:
			a.broken = unread("inbox.read", part.err)
			return nil
		}
		a.at = place{file: i + 1, before: a.at.all(), expanded: a.at.expanded + a.expanded}
		a.expanded = 0
	}
	return nil
}

// bounds are the limits of reading a file.
func (a *attempt) bounds(f file) reader.Bounds {
	const op = "inbox.read"
	return reader.Bounds{
		Skip: a.at.documents, Size: f.Size,
		Next: func() error {
			first := a.at == a.entry.from // of this turn, which has at least this document
			if first {
				a.lane.began = a.o.Now()
			}
			if a.askedToPause() || !first && a.lane.over() {
				return errPaused
			}
			if a.at.all() >= a.o.MaxDocuments {
				return fault.New(fault.Invalid, op, "the upload contains more than %d documents, which is the limit: the rest was not read; send it in parts", a.o.MaxDocuments)
			}
			return nil
		},
		Expand: func(n int) error {
			if a.expanded += int64(n); a.at.expanded+a.expanded > a.o.MaxExpanded {
				return fault.New(fault.Invalid, op, "the compressed files of the upload contain more than %d bytes, which is the limit: the rest was not read; send it in parts", a.o.MaxExpanded)
			}
			return nil
		},
		Hold: a.memory.document, Unpack: a.memory.pdf,
	}
}

func (a *attempt) askedToPause() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.entry.pause != nil
}

// progress is called with the report of this attempt after each batch.
func (a *attempt) progress(r ingest.Report) {
	a.mu.Lock()
	a.entry.Report, a.entry.Read = a.entry.total(r), a.seen.Load()
	before, far := a.entry.begun-1, a.entry.Report.Documents()
	// This attempt got past the place where others died, or far enough to count anew.
	further := far > a.entry.far && (before > 0 || far > 2*max(a.entry.far, someDocuments))
	if further {
		a.entry.far = far
	}
	a.mu.Unlock()
	if further {
		a.mark(a.entry, -before)
	}
}

// watched counts what is read, and keeps an error of the disk, which the reader
// would report as a failed document.
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
