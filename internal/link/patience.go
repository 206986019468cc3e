package link

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// Patience is how long a daemon has for what it answers at once: so long that on a device
// that is busy with other things only one takes longer whose process was stopped, or
// that hangs.
const Patience = 30 * time.Second

var errSilent = errors.New("it is silent")

// quick says whether a request is answered at once. Questions, uploads, exports,
// events and idle work may take any time.
func quick(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodPatch:
		return r.URL.Path != "/v1/events" && r.URL.Path != "/v1/backup" && !strings.HasSuffix(r.URL.Path, "/export")
	}
	return false
}

// send sends a request, with a deadline for the whole answer if it is quick. What is
// done in this process needs none.
func (l *Link) send(r *http.Request) (*http.Response, error) {
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if l.Daemon != "" && quick(r) {
		ctx, cancel = context.WithTimeoutCause(ctx, l.Patience, errSilent)
	}
	resp, err := l.raw.Do(r.WithContext(ctx))
	why := func(err error) error { return l.silence(context.Cause(ctx), err) }
	if err != nil {
		err = why(err)
		cancel()
		return nil, err
	}
	resp.Body = awaited{resp.Body, why, cancel}
	return resp, nil
}

// silence is err, or that the deadline has passed if that is the cause.
func (l *Link) silence(cause, err error) error {
	if !errors.Is(cause, errSilent) {
		return err
	}
	return fault.New(fault.Timeout, "link", "no answer from the daemon at %s within %v: its process is stopped or overloaded; look at its log, or restart it", l.at, l.Patience)
}

// awaited is the body of an answer that may have a deadline.
type awaited struct {
	io.ReadCloser
	why    func(error) error // it broke off
	cancel context.CancelFunc
}

func (a awaited) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = a.why(err)
	}
	return n, err
}

func (a awaited) Close() error {
	defer a.cancel()
	return a.ReadCloser.Close()
}
