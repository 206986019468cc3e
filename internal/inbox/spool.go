package inbox

import (
	"context"
	"crypto/sha256"
	"io"
	"os"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// Take takes one file, to its end. The name is one for people and for the reader,
// whose documents go by it, whatever it looks like. What of a body is kept may have
// to be parsed out of it: see unparsed.
type Take = func(name string, body io.Reader) error

// sending is an upload that is being sent.
type sending struct {
	*Inbox
	space, key, id string
	known          *entry // the upload that was sent under the key before
	file           *os.File
	files          []file
	spooled        int64         // bytes that count as the inbox's
	done           chan struct{} // closed when nothing is left to do
	accepted       bool

	// Guarded by mu:
	refused    error // why it cannot be accepted any more
	committing bool
}

// refuse ends what is being sent. The caller holds mu.
func (s *sending) refuse(why error) {
	if s.refused == nil {
		s.refused = why
	}
}

// receive writes all files into the spool.
func (s *sending) receive(ctx context.Context, each func(take Take) error) error {
	if s.known == nil {
		f, err := s.disk.create(s.id + spoolEnd)
		if err != nil {
			return unavailable("inbox.receive", err)
		}
		s.file = f
	}
	var failed error // sticks, whatever each makes of it
	err := each(func(name string, body io.Reader) error {
		if failed == nil {
			failed = s.one(ctx, name, body)
		}
		return failed
	})
	switch {
	case err == nil && failed != nil, fault.KindOf(failed) == fault.Unavailable, fault.KindOf(failed) == fault.Overloaded:
		return failed // which each need not have handed on
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case len(s.files) == 0:
		return fault.New(fault.Invalid, "inbox.receive", "nothing was sent")
	}
	return nil
}

// one writes a file behind the others.
func (s *sending) one(ctx context.Context, name string, body io.Reader) error {
	const op = "inbox.take"
	switch {
	case !properName(name):
		return fault.New(fault.Invalid, op, "a file's name has 1 to %d bytes of UTF-8 and no control characters", maxName)
	case len(s.files) >= s.o.MaxFiles:
		return fault.New(fault.Invalid, op, "an upload has at most %d files", s.o.MaxFiles)
	}
	kept := file{Name: name}
	h := sha256.New()
	keep := func(b []byte) error {
		h.Write(b)
		kept.Size += int64(len(b))
		return s.put(s.file, b)
	}
	var err error
	if u, ok := body.(unparsed); ok {
		err = s.parse(ctx, u, keep)
	} else {
		err = each(ctx, body, keep)
	}
	if err != nil {
		return err
	}
	h.Sum(kept.Sum[:0])
	s.files = append(s.files, kept)
	return nil
}

// each calls fn with what a body holds, piece by piece. Errors of the body are given
// as they are.
func each(ctx context.Context, body io.Reader, fn func([]byte) error) error {
	buf := make([]byte, 64<<10)
	for idle := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := body.Read(buf)
		if n > 0 {
			idle = 0
			if err := fn(buf[:n]); err != nil {
				return err
			}
		} else if idle++; idle == 100 && err == nil {
			err = io.ErrNoProgress
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// put writes bytes, if there is room for them.
func (s *sending) put(to *os.File, b []byte) error {
	const op = "inbox.put"
	s.mu.Lock()
	err := s.refused
	if err == nil && to != nil {
		if s.bytes+int64(len(b)) > s.o.MaxBytes {
			err = fault.New(fault.Overloaded, op, "uploads that wait to be taken in leave no room for this one (%d of %d bytes)", s.bytes, s.o.MaxBytes)
		} else {
			s.bytes += int64(len(b))
			s.spooled += int64(len(b))
		}
	}
	s.mu.Unlock()
	if err != nil || to == nil {
		return err
	}
	if err := durable.Room(s.disk.dir, int64(len(b)), s.o.MinFree); err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	if err := s.disk.write(to, b); err != nil {
		return unavailable(op, err)
	}
	return nil
}
