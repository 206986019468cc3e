package pull

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

const (
	safeEvery = 64 << 20 // bytes after which what came is made safe on the disk
	piece     = 1 << 18
	magic     = "GGUF" // what every model begins with
)

var errStalled = errors.New("nothing came for a while")

// stopper ends a request during which nothing comes.
type stopper struct {
	timer  *time.Timer
	after  time.Duration
	cancel context.CancelCauseFunc
}

// watch bounds how long nothing may come.
func (p *Puller) watch(ctx context.Context) (context.Context, *stopper) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &stopper{timer: time.AfterFunc(p.stall, func() { cancel(errStalled) }), after: p.stall, cancel: cancel}
}

// heard starts the time anew.
func (s *stopper) heard() { s.timer.Reset(s.after) }

func (s *stopper) end() {
	s.timer.Stop()
	s.cancel(nil)
}

// ended says that it was silence that ended a request, where it was.
func ended(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return fleeting{error: fault.New(fault.Unavailable, opFetch, "%w", errStalled)}
	}
	return err
}

// whole: all bytes are there that the server spoke of.
func (p *part) whole() bool { return p.complete || p.Size >= 0 && p.at == p.Size && p.at > 0 }

// copy takes a body as far as it comes.
func (p *Puller) copy(body io.Reader, host string, t *part, stop *stopper) (came int64, err error) {
	cut := func(err error) error {
		if t.Size >= 0 {
			return fleeting{error: fault.New(fault.Unavailable, opFetch, "the connection to %s ended at byte %d of %d: %w", host, t.at, t.Size, err)}
		}
		return fleeting{error: fault.New(fault.Unavailable, opFetch, "the connection to %s ended at byte %d: %w", host, t.at, err)}
	}
	p.observer.Fetched(t.at, t.Size)
	if t.at == 0 {
		head := make([]byte, len(magic))
		n, err := io.ReadFull(body, head)
		switch {
		case errors.Is(err, io.EOF) && t.Size < 0, errors.Is(err, io.ErrUnexpectedEOF) && t.Size == int64(n), t.Size == 0,
			err == nil && string(head) != magic:
			t.remove()
			return 0, fault.New(fault.Invalid, opFetch, "what %s sends is no GGUF file: it begins with %q", host, head[:n])
		case err != nil:
			return 0, cut(err)
		}
		body = io.MultiReader(bytes.NewReader(head), body)
	}
	buf := make([]byte, piece)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			stop.heard()
			if t.Size >= 0 && t.at+int64(n) > t.Size {
				t.remove()
				return came, fault.New(fault.Invalid, opFetch, "%s sends more than the %d bytes that it said", host, t.Size)
			}
			if _, err := t.f.Write(buf[:n]); err != nil {
				return came, writeFault(err)
			}
			came += int64(n)
			t.at += int64(n)
			if t.at-t.Kept >= safeEvery {
				if err := t.keep(); err != nil {
					return came, writeFault(err)
				}
			}
			p.observer.Fetched(t.at, t.Size)
		}
		switch {
		case err == io.EOF && (t.Size < 0 || t.at == t.Size):
			t.complete = true
			return came, nil
		case err != nil:
			return came, cut(err)
		}
	}
}

// contentRange reads "bytes FROM-TO/SIZE"; a size that is not known is negative.
func contentRange(h string) (from, size int64, ok bool) {
	h, found := strings.CutPrefix(h, "bytes ")
	span, total, cut := strings.Cut(h, "/")
	first, _, dash := strings.Cut(span, "-")
	if !found || !cut || !dash {
		return 0, 0, false
	}
	from, err := strconv.ParseInt(first, 10, 64)
	if err != nil || from < 0 {
		return 0, 0, false
	}
	if total == "*" {
		return from, -1, true
	}
	size, err = strconv.ParseInt(total, 10, 64)
	return from, size, err == nil && size >= 0
}
