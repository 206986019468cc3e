package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

const (
	op         = "percached: engine"
	maxBody    = 64 << 20 // bytes of a response that is not a stream
	maxError   = 64 << 10 // bytes read of an error
	tries      = 4        // of one request
	firstPause = 250 * time.Millisecond
	mostPause  = 15 * time.Second // a server that wants a longer one is not asked again
)

// client sends requests to one server.
type client struct {
	Config
	http    *http.Client
	breaker breaker
	dials   atomic.Int64 // connections that were begun
	checked atomic.Int64 // dials before the server was last asked what it is
}

func newClient(c Config) *client {
	// No proxy and no redirect: percached connects to the configured address only.
	made := &client{Config: c, breaker: breaker{now: c.Now}}
	dialer := net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			made.dials.Add(1)
			return dialer.DialContext(ctx, network, address)
		},
		TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 8, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
		ForceAttemptHTTP2: true, DisableCompression: true,
	}
	made.http = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return made
}

// mayHaveChanged says that another server may listen at the address since ask: one that is
// replaced closes its connections.
func (c *client) mayHaveChanged() bool { return c.checked.Load() != c.dials.Load() }

func (c *client) close() { c.http.CloseIdleConnections() }

// lasting is an error that stays although the server works: somebody must change a setting.
type lasting struct{ error }

func (l lasting) Unwrap() error { return l.error }

// await repeats open while the server is not reached, for as long as Patience.
func (c *client) await(ctx context.Context, open func() error) error {
	until := c.Now().Add(c.Patience)
	for {
		err := open()
		k := fault.KindOf(err)
		_, final := errors.AsType[lasting](err)
		if err == nil || final || k != fault.Unavailable && k != fault.Overloaded || !c.Now().Before(until) {
			return err
		}
		if err := c.Wait(ctx, time.Second); err != nil {
			return ended(ctx, err)
		}
	}
}

// request is one request to the server.
type request struct {
	method, path string
	body         any               // JSON; nil: none
	header       map[string]string // beside the usual ones
	// read takes the body of a response of status 200. again says that nothing of it was used
	// before it failed.
	read func(r io.Reader) (again bool, err error)
}

// send sends a request, and again if the server failed before anything was read. It never
// repeats what its context has ended.
func (c *client) send(ctx context.Context, r request) error {
	body, err := json.Marshal(r.body)
	if err != nil {
		return fault.New(fault.Internal, op, "%w", err)
	}
	if err := c.breaker.enter(); err != nil {
		return err
	}
	f := c.repeat(ctx, r, body)
	c.breaker.leave(f.err == nil, f.broken())
	return f.err
}

// repeat sends a request until it works, or another try is in vain.
func (c *client) repeat(ctx context.Context, r request, body []byte) failure {
	pause := firstPause
	for try := 1; ; try++ {
		f := c.once(ctx, r, body)
		if f.err == nil || !f.again || try == tries {
			return f
		}
		if f.after > 0 {
			pause = f.after
		}
		if pause > mostPause {
			return f
		}
		if err := c.Wait(ctx, pause); err != nil {
			return failure{err: ended(ctx, err)}
		}
		pause *= 2
	}
}

// failure is how one try ended.
type failure struct {
	err   error         // nil: it worked
	again bool          // another try may work
	after time.Duration // the pause that the server wants
	busy  bool          // the server answered that it cannot answer now
	lost  bool          // there was no answer, or not all of it
}

// broken says that the server does not work, and not only that it is busy.
func (f failure) broken() bool { return f.again && fault.KindOf(f.err) == fault.Unavailable }

// once sends a request once.
func (c *client) once(ctx context.Context, r request, body []byte) failure {
	// The watch ends a request whose server is silent for too long.
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := fault.New(fault.Unavailable, op, "%s sent nothing for %v", c.host(), c.Silence)
	watch := time.AfterFunc(c.Silence, func() { cancel(silence) })
	defer watch.Stop()
	var reader io.Reader
	if r.body != nil {
		reader = bytes.NewReader(body)
	}
	q, err := http.NewRequestWithContext(inner, r.method, c.base()+r.path, reader)
	if err != nil {
		return failure{err: fault.New(fault.Invalid, op, "%s is no URL of a server", c.host())}
	}
	if r.body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	c.authorize(q)
	for name, value := range r.header {
		q.Header.Set(name, value)
	}
	resp, err := c.http.Do(q)
	if err != nil {
		return c.lost(inner, err)
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	if resp.StatusCode != http.StatusOK {
		return c.refused(resp)
	}
	again, err := r.read(&watched{resp.Body, watch, c.Silence})
	switch {
	case err == nil:
		return failure{}
	case inner.Err() != nil:
		f := c.lost(inner, err)
		f.again = f.again && again
		return f
	}
	return failure{err: err, again: again, lost: again}
}

// authorize sets the key.
func (c *client) authorize(q *http.Request) {
	if c.Key != "" {
		q.Header.Set("Authorization", "Bearer "+c.Key)
	}
}

// host is the server in messages.
func (c *client) host() string {
	_, rest, _ := strings.Cut(c.base(), "://")
	return rest
}

// lost is the failure of a connection. Errors of net/http hold the URL only, which has no key.
func (c *client) lost(ctx context.Context, err error) failure {
	if cause := context.Cause(ctx); cause != nil {
		if fault.KindOf(cause) == fault.Unavailable && !errors.Is(cause, llm.ErrClosed) && !errors.Is(cause, llm.ErrPreempted) {
			return failure{err: cause, again: true, lost: true} // the silence
		}
		return failure{err: ended(ctx, cause)}
	}
	var what string
	switch netErr := net.Error(nil); {
	case errors.As(err, &netErr) && netErr.Timeout():
		what = "the connection timed out"
	case strings.Contains(err.Error(), "connection refused"):
		what = "nothing listens there"
	case strings.Contains(err.Error(), "certificate"):
		what = "its certificate is not trusted"
	case strings.Contains(err.Error(), "no such host"):
		what = "there is no host of this name"
	default:
		what = "the connection broke"
	}
	return failure{err: fault.New(fault.Unavailable, op, "cannot reach %s: %s", c.host(), what), again: true, lost: true}
}

// ended is the error of a request whose context has ended.
func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fault.Wrap(op, err)
}

// refused is the failure of a response that is not 200. The server's own words may quote the
// prompt: only its code is passed on.
func (c *client) refused(resp *http.Response) failure {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
	code := codeOf(text)
	if code != "" {
		code = " (" + code + ")"
	}
	fail := func(k fault.Kind, format string, args ...any) error { return fault.New(k, op, format, args...) }
	switch s := resp.StatusCode; {
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		return failure{err: lasting{fail(fault.Unavailable, "%s refuses the key: check engine-key-file", c.host())}}
	case s == http.StatusNotFound:
		return failure{err: lasting{fail(fault.Unavailable, "%s has no model %q, or does not know the path", c.host(), c.Model)}}
	case s == http.StatusTooManyRequests:
		return failure{err: fail(fault.Overloaded, "%s has too many requests", c.host()), again: true, after: c.retryAfter(resp), busy: true}
	case s >= 500:
		return failure{err: fail(fault.Unavailable, "%s failed with status %d%s", c.host(), s, code), again: true, after: c.retryAfter(resp), busy: s == http.StatusServiceUnavailable}
	case s == http.StatusRequestEntityTooLarge, s == http.StatusBadRequest && tooLong(text):
		return failure{err: fail(fault.Invalid, "the prompt does not fit into the server's context%s: set context to its length", code)}
	case s == http.StatusBadRequest || s == http.StatusUnprocessableEntity:
		return failure{err: fail(fault.Invalid, "%s refuses the request with status %d%s", c.host(), s, code)}
	case s >= 300 && s < 400:
		return failure{err: lasting{fail(fault.Unavailable, "%s redirects: set engine-url to the address that it redirects to", c.host())}}
	}
	return failure{err: fail(fault.Unavailable, "%s refuses the request with status %d%s", c.host(), resp.StatusCode, code)}
}

// retryAfter is the pause that a server wants; 0: it names none.
func (c *client) retryAfter(resp *http.Response) time.Duration {
	v := resp.Header.Get("Retry-After")
	if n, err := strconv.Atoi(v); err == nil && n >= 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(c.Now()))
	}
	return 0
}

// serverError is an error in OpenAI's format, or in those of servers that differ from it.
type serverError struct {
	Error json.RawMessage `json:"error"`
	Type  json.RawMessage `json:"type"`
	Code  json.RawMessage `json:"code"`
}

// codeOf is the name that a server gives an error, if it is a plain name.
func codeOf(text []byte) string {
	var e serverError
	if json.Unmarshal(text, &e) != nil {
		return ""
	}
	var inner serverError
	_ = json.Unmarshal(e.Error, &inner)
	for _, raw := range []json.RawMessage{inner.Code, inner.Type, e.Code, e.Type} {
		var name string
		if json.Unmarshal(raw, &name) == nil && name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
			return r != '_' && r != '-' && r != '.' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
		}) {
			return name
		}
	}
	return ""
}

// tooLong says that an error is about the context's length.
func tooLong(text []byte) bool {
	s := strings.ToLower(string(text))
	return strings.Contains(s, "context_length") || strings.Contains(s, "exceed_context") || strings.Contains(s, "context length") || strings.Contains(s, "context size")
}

// watched starts the watch anew with everything that comes.
type watched struct {
	io.Reader
	watch *time.Timer
	wait  time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.watch.Reset(w.wait)
	return n, err
}

// readJSON reads a body of one JSON value.
func readJSON(into any) func(io.Reader) (bool, error) {
	return func(r io.Reader) (bool, error) {
		b, err := io.ReadAll(io.LimitReader(r, maxBody+1))
		switch {
		case err != nil:
			return true, fault.New(fault.Unavailable, op, "the server's response broke off")
		case len(b) > maxBody:
			return false, fault.New(fault.Unavailable, op, "the server's response is larger than %d MiB", maxBody>>20)
		case json.Unmarshal(b, into) != nil:
			return false, fault.New(fault.Unavailable, op, "the server's response is not the JSON that it should be: is it an OpenAI-compatible server?")
		}
		return false, nil
	}
}

// get reads a JSON value.
func (c *client) get(ctx context.Context, path string, into any) error {
	return c.send(ctx, request{method: http.MethodGet, path: path, read: readJSON(into)})
}

// post sends a JSON value and reads another.
func (c *client) post(ctx context.Context, path string, body, into any) error {
	return c.send(ctx, request{method: http.MethodPost, path: path, body: body, read: readJSON(into)})
}
