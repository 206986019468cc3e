package openai

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// Passed is a request that is passed on as it is, to a path under /v1/.
type Passed struct {
	Method, Path, Query string
	Type, Accept        string // headers
	Body                io.Reader
	Length              int64 // of the body; negative: unknown
}

// Pass sends a request with the server's key, and returns the response of any status; the
// caller closes its body. It is never repeated, and does not wait in the engine's line.
func (e *Engine) Pass(ctx context.Context, p Passed) (*http.Response, error) {
	if e.line.isClosed() {
		return nil, fault.Wrap(op, llm.ErrClosed)
	}
	if !strings.HasPrefix(p.Path, "/v1/") || strings.Contains(p.Path, "..") {
		return nil, fault.New(fault.Invalid, op, "the path is not one under /v1/")
	}
	if err := e.breaker.enter(); err != nil {
		return nil, err
	}
	f, resp := e.pass(ctx, p)
	// A status of 5xx may be the fault of what the client sent: it counts as neither.
	e.breaker.leave(f.err == nil && resp.StatusCode < http.StatusInternalServerError, f.broken())
	return resp, f.err
}

func (e *Engine) pass(ctx context.Context, p Passed) (failure, *http.Response) {
	inner, cancel := context.WithCancelCause(ctx)
	watch := time.AfterFunc(e.Silence, func() { cancel(fault.New(fault.Unavailable, op, "%s sent nothing for %v", e.host(), e.Silence)) })
	end := func() { watch.Stop(); cancel(nil) }
	target := e.base() + p.Path
	if p.Query != "" {
		target += "?" + p.Query
	}
	var body io.Reader
	var sent *sentBody
	if p.Body != nil {
		sent = &sentBody{Reader: p.Body}
		body = sent
	}
	q, err := http.NewRequestWithContext(inner, p.Method, target, body)
	if err != nil {
		end()
		return failure{err: fault.New(fault.Invalid, op, "the path is not one of a server")}, nil
	}
	q.ContentLength = p.Length
	for name, value := range map[string]string{"Content-Type": p.Type, "Accept": p.Accept} {
		if value != "" {
			q.Header.Set(name, value)
		}
	}
	e.authorize(q)
	resp, err := e.http.Do(q)
	if err != nil {
		f := e.lost(inner, err)
		if failed := sent.failure(); failed != nil { // the client failed, and not the server
			f = failure{err: failed}
		}
		end()
		return f, nil
	}
	switch s := resp.StatusCode; {
	case s == http.StatusUnauthorized || s == http.StatusForbidden || s >= 300 && s < 400:
		// The client would take it for a word about its own token.
		f := e.refused(resp)
		_ = resp.Body.Close()
		end()
		return f, nil
	}
	resp.Body = &passedBody{watched{resp.Body, watch, e.Silence}, resp.Body, end}
	return failure{}, resp
}

// sentBody is the body of a passed request. It keeps the error with which reading it ended.
type sentBody struct {
	io.Reader
	failed atomic.Pointer[error] // net/http may read on after a request has ended
}

func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF {
		b.failed.Store(&err)
	}
	return n, err
}

func (b *sentBody) failure() error {
	if b == nil {
		return nil
	}
	if err := b.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// passedBody ends the request when it is closed.
type passedBody struct {
	watched
	from io.Closer
	end  func()
}

func (b *passedBody) Close() error {
	defer b.end()
	return b.from.Close()
}

// knownModels are the names of a server's models.
type knownModels struct {
	mu    sync.Mutex
	names []string
	until time.Time // they are asked for again
}

// keepModels is how long a list of a server's models is used.
const keepModels = 10 * time.Second

// Has reports whether the server has a model. A list of models is used for a while, so that wrong
// names do not become as many requests.
func (e *Engine) Has(ctx context.Context, model string) bool {
	if model == e.ModelName() {
		return true
	}
	e.known.mu.Lock()
	defer e.known.mu.Unlock()
	if !e.Now().Before(e.known.until) {
		var list struct {
			Data []listed `json:"data"`
		}
		if e.get(ctx, "/v1/models", &list) != nil {
			return false
		}
		e.known.names, e.known.until = nil, e.Now().Add(keepModels)
		for _, l := range list.Data {
			e.known.names = append(e.known.names, l.ID)
		}
	}
	return slices.Contains(e.known.names, model)
}
