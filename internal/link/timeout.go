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

// ResponseTimeout is the default timeout of short requests. Even on a busy device only a
// stopped or hanging daemon takes longer.
const ResponseTimeout = 30 * time.Second

var errTimeout = errors.New("timeout")

// hasDeadline says that a request is short. Questions, uploads, exports, events and idle
// work may take any time.
func hasDeadline(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodPatch:
		path := r.URL.Path // a proxy may serve percached below a path of its own
		return !strings.HasSuffix(path, "/v1/events") && !strings.HasSuffix(path, "/v1/backup") && !strings.HasSuffix(path, "/export")
	}
	return false
}

// send sends a request. A short request to a daemon has a deadline for the whole response.
func (l *Link) send(r *http.Request) (*http.Response, error) {
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if l.Daemon != "" && hasDeadline(r) {
		ctx, cancel = context.WithTimeoutCause(ctx, l.Timeout, errTimeout)
	}
	resp, err := l.raw.Do(r.WithContext(ctx))
	why := func(err error) error { return l.timeoutError(context.Cause(ctx), err) }
	if err != nil {
		err = why(err)
		cancel()
		return nil, err
	}
	resp.Body = deadlineBody{resp.Body, why, cancel}
	return resp, nil
}

// timeoutError is err, or a timeout if the deadline caused it.
func (l *Link) timeoutError(cause, err error) error {
	if !errors.Is(cause, errTimeout) {
		return err
	}
	return fault.New(fault.Timeout, "link", "no response from the daemon at %s within %v: its process is stopped or overloaded; check its log, or restart it", l.address, l.Timeout)
}

// deadlineBody is the body of a response that may have a deadline.
type deadlineBody struct {
	io.ReadCloser
	why    func(error) error // replaces the error of a broken connection
	cancel context.CancelFunc
}

func (a deadlineBody) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = a.why(err)
	}
	return n, err
}

func (a deadlineBody) Close() error {
	defer a.cancel()
	return a.ReadCloser.Close()
}
