package link

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
)

// DefaultSpace is the space of commands that name none.
const DefaultSpace = "default"

// Link sends requests to a percached. Its methods return a status of 400 or above as a
// *client.ProblemError.
type Link struct {
	*client.ClientWithResponses
	// Daemon is the address of the daemon, or empty if this process answers.
	Daemon string
	// Data is the data folder.
	Data string
	// SyncFiles opens the files of commands that follow folders and mail accounts. It may ask
	// for a passphrase. Nil: the daemon is elsewhere, or the command follows nothing.
	SyncFiles func() (*home.SyncFiles, error)
	Close     func() error
	// Timeout is the maximum time of a short request (see hasDeadline).
	Timeout time.Duration

	raw     *http.Client
	address string
	host    string // of a daemon that the user named, or empty
}

// New makes a link to the percached at an address.
func New(address, secret string, transport http.RoundTripper) (*Link, error) {
	l := &Link{raw: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, address: address, Timeout: ResponseTimeout}
	var err error
	l.ClientWithResponses, err = client.NewClientWithResponses(address, client.WithHTTPClient(l), client.WithToken(secret))
	if err != nil {
		return nil, fault.New(fault.Internal, "link.New", "%w", err)
	}
	return l, nil
}

// As returns a link to the same percached with another token.
func (l *Link) As(secret string) (*Link, error) {
	o, err := New(l.address, secret, l.raw.Transport)
	if err != nil {
		return nil, err
	}
	o.Daemon, o.Data, o.Timeout, o.host = l.Daemon, l.Data, l.Timeout, l.host
	return o, nil
}

const maxProblem = 1 << 20 // bytes

// Do sends a request; the client calls it.
func (l *Link) Do(r *http.Request) (*http.Response, error) {
	resp, err := l.send(r)
	if err != nil {
		if r.Context().Err() != nil {
			return nil, r.Context().Err()
		}
		return nil, l.unreachable("link", err)
	}
	if resp.StatusCode < 300 {
		resp.Body = responseBody{resp.Body}
		return resp, nil
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return nil, fault.New(fault.Unavailable, "link", "no response from percached: %w", err)
	}
	err = client.Failed(max(resp.StatusCode, http.StatusBadRequest), b) // percached sends no redirects
	if l.host != "" {
		err = responseError(l.host, resp.StatusCode, resp.Header.Get("Location"), err)
	}
	return nil, err
}

// unreachable wraps an error of a request without its URL, which may contain a question.
func (l *Link) unreachable(op string, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if fault.KindOf(err) == fault.Timeout {
		return err
	}
	if l.host != "" {
		return connectError(l.host, err)
	}
	return fault.New(fault.Unavailable, op, "no response from percached: %w", err)
}

// responseBody is a body that may end early, for example if the daemon is killed.
type responseBody struct{ io.ReadCloser }

func (a responseBody) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && err != io.EOF && fault.KindOf(err) != fault.Timeout {
		err = fault.New(fault.Unavailable, "link", "percached stopped responding: %w", err)
	}
	return n, err
}

// Ready waits until percached can answer questions, and shows the progress.
func (l *Link) Ready(ctx context.Context, stderr io.Writer) error {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	show, stage := func(float64) {}, ""
	defer func() { show(1) }() // clears the line
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.address+"/readyz", nil)
		if err != nil {
			return fault.New(fault.Internal, "link.Ready", "%w", err)
		}
		resp, err := l.send(r)
		if err != nil {
			return l.unreachable("link.Ready", err)
		}
		now, err := l.readiness(resp)
		switch {
		case err != nil:
			return err
		case now.Ready:
			return nil
		case now.Stage == "closing":
			return fault.New(fault.Overloaded, "link.Ready", "percached is closing")
		}
		if string(now.Stage) != stage {
			show(1)
			stage = string(now.Stage)
			show = cmdline.Progress(stderr, stage)
		}
		show(now.Progress)
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readiness reads a response of /readyz. Anything else comes from another program, which will
// never be ready.
func (l *Link) readiness(resp *http.Response) (client.Ready, error) {
	defer resp.Body.Close() //nolint:errcheck // it was read
	var now client.Ready
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	switch {
	case err == nil && json.Unmarshal(b, &now) == nil && now.Stage != "":
		return now, nil
	case err == nil && l.host != "":
		return now, responseError(l.host, resp.StatusCode, resp.Header.Get("Location"), client.Failed(max(resp.StatusCode, http.StatusBadRequest), b))
	case err == nil && resp.StatusCode >= http.StatusBadRequest:
		return now, client.Failed(resp.StatusCode, b)
	case fault.KindOf(err) == fault.Timeout:
		return now, err
	}
	return now, fault.New(fault.Unavailable, "link.Ready", "the program at %s is not percached", l.address)
}
