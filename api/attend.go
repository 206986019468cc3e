package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// errGone says that the client reads no more.
var errGone = errors.New("the client is gone")

// gone is the status that the log has for requests whose client did not wait.
// It is never sent.
const gone = 499

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	began := s.Now()
	w := newWriter(rw, s.WriteTimeout)
	x := &exchange{id: requestID(r), path: r.URL.Path, options: &s.Options, body: newBody(r, w.control, &s.Options)}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	r.Body = x.body
	status := s.attend(w, r, x)
	took := s.Now().Sub(began)
	s.Logger.LogAttrs(r.Context(), levelOf(r, x, status), "request", slog.String("id", x.id), slog.String("op", x.route.op),
		slog.Int("status", status), slog.Float64("ms", float64(took)/float64(time.Millisecond)),
		slog.String("token", x.grant.Token), slog.String("problem", string(x.problem)))
	if s.Observer.Request != nil {
		s.Observer.Request(x.route.op, status, took)
	}
	if x.cut {
		panic(http.ErrAbortHandler) // else net/http would end the response as if all went well
	}
	if !x.body.ended() {
		x.body.extend() // net/http reads what is left, and must not wait for it for ever
	}
}

// levelOf is the level at which a request is logged. What clients and probes read
// again and again, and what waits for percached to be ready, says something only
// where it fails.
func levelOf(r *http.Request, x *exchange, status int) slog.Level {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if reads && (status < http.StatusBadRequest || x.route.op == "ready") {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// attend serves a request or tells why not, and says with which status.
func (s *Server) attend(w *writer, r *http.Request, x *exchange) (status int) {
	defer func() {
		switch p := recover(); {
		case p == nil:
		case p == http.ErrAbortHandler:
			x.cut, status = true, gone
		default:
			s.Logger.LogAttrs(r.Context(), slog.LevelError, "a handler broke", slog.String("id", x.id),
				slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
			status = s.fail(w, r, x, fault.New(fault.Internal, "api", "a handler broke"))
		}
	}()
	if err := s.enter(w, r); err != nil {
		return s.fail(w, r, x, err)
	}
	if s.preflight(w, r) {
		return w.status
	}
	s.router.ServeHTTP(w, r)
	if x.err != nil {
		return s.fail(w, r, x, x.err)
	}
	if w.broken {
		x.cut = true
		return gone
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.status
}

// note writes down why a request could not be served: for the log, and the cause
// where the client does not learn it.
func (x *exchange) note(name problem, err error) {
	x.problem = name
	if problems[name].status >= 500 && name != problemStarting {
		x.options.Logger.Error("a request failed", "id", x.id, "error", err)
	}
}

// fail tells the client of an error, if it is there to hear it, and says with
// which status.
func (s *Server) fail(w *writer, r *http.Request, x *exchange, err error) int {
	name, _, _ := problemFor(err)
	// A read that took too long ends the request's context as well.
	if errors.Is(err, errGone) || r.Context().Err() != nil && name != problemSlowRequest {
		x.cut = true
		return gone
	}
	x.note(name, err)
	row := problems[name]
	if w.status != 0 { // the client sees that the rest is missing
		x.cut = true
		return row.status
	}
	x.body.finish(r)
	rest := !x.body.ended() && r.ProtoMajor == 1
	if rest {
		w.Header().Set("Connection", "close")
		_ = w.control.EnableFullDuplex() // the answer goes first, the rest of the body comes behind it
	}
	x.tell(w, err)
	if rest && w.FlushError() == nil && !w.broken {
		x.body.pass(r)
	}
	return row.status
}
