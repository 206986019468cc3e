package link

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/percached/percached/internal/base/cmdline"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/fault"
)

// DefaultSpace is the space of commands that name none.
const DefaultSpace = "default"

// Link is the way to a percached. Of what its funcs give, the error tells all that
// is not an answer: a status of 400 or above is a *client.ProblemError.
type Link struct {
	*client.ClientWithResponses
	// Daemon is the address of the process that answers; empty: it is this one.
	Daemon string
	Close  func() error
	// Patience is how long a daemon has for what it answers at once.
	Patience time.Duration

	raw *http.Client
	at  string
}

// New makes the way to the percached at an address.
func New(address, secret string, way http.RoundTripper) (*Link, error) {
	l := &Link{raw: &http.Client{
		Transport:     way,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, at: address, Patience: Patience}
	var err error
	l.ClientWithResponses, err = client.NewClientWithResponses(address, client.WithHTTPClient(l), client.WithToken(secret))
	if err != nil {
		return nil, fault.New(fault.Internal, "cli.New", "%w", err)
	}
	return l, nil
}

const maxProblem = 1 << 20 // bytes

// Do sends a request; the client calls it.
func (l *Link) Do(r *http.Request) (*http.Response, error) {
	resp, err := l.send(r)
	if err != nil {
		if r.Context().Err() != nil {
			return nil, r.Context().Err()
		}
		return nil, unanswered("link", err)
	}
	if resp.StatusCode < 300 {
		resp.Body = answering{resp.Body}
		return resp, nil
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return nil, fault.New(fault.Unavailable, "link", "percached does not answer: %w", err)
	}
	return nil, client.Failed(max(resp.StatusCode, http.StatusBadRequest), b) // it redirects nowhere
}

// unanswered says why nobody answers. The address may hold a question: it is left out.
func unanswered(op string, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if fault.KindOf(err) == fault.Timeout {
		return err
	}
	return fault.New(fault.Unavailable, op, "percached does not answer: %w", err)
}

// answering is an answer that may be cut off: by a daemon that was killed, say.
type answering struct{ io.ReadCloser }

func (a answering) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && err != io.EOF && fault.KindOf(err) != fault.Timeout {
		err = fault.New(fault.Unavailable, "link", "percached does not answer any more: %w", err)
	}
	return n, err
}

// Ready waits until questions can be asked, and says how far it is.
func (l *Link) Ready(ctx context.Context, stderr io.Writer) error {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	tell, stage := func(float64) {}, ""
	defer func() { tell(1) }() // whatever came of it, its line is wiped away
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.at+"/readyz", nil)
		if err != nil {
			return fault.New(fault.Internal, "link.Ready", "%w", err)
		}
		resp, err := l.send(r)
		if err != nil {
			return unanswered("link.Ready", err)
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
			tell(1)
			stage = string(now.Stage)
			tell = cmdline.Progress(stderr, stage)
		}
		tell(now.Progress)
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readiness is what somebody says of how far it is. Who says something else will
// never be ready, however long one waits.
func (l *Link) readiness(resp *http.Response) (client.Ready, error) {
	defer resp.Body.Close() //nolint:errcheck // it was read
	var now client.Ready
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	switch {
	case err == nil && json.Unmarshal(b, &now) == nil && now.Stage != "":
		return now, nil
	case err == nil && resp.StatusCode >= http.StatusBadRequest:
		return now, client.Failed(resp.StatusCode, b)
	case fault.KindOf(err) == fault.Timeout:
		return now, err
	}
	return now, fault.New(fault.Unavailable, "link.Ready", "who listens at %s is no percached", l.at)
}
