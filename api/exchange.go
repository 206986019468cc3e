package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// exchange is one request and its state while it is served.
type exchange struct {
	id       string
	path     string
	uri      string // path and query
	route    route  // empty if no route matched
	grant    Grant
	err      error         // why the request failed
	problem  problem       // the problem that was sent, if any
	routed   *http.Request // with the values of its path; nil if no route matched
	space    string        // that the body names, for the audit log
	keys     []string
	answer   *Answer
	accepted *UploadStatus // the upload that goes on, whatever becomes of the request
	// unrecorded says that the request was refused because the audit log cannot be written.
	unrecorded bool
	cut        bool // cut the connection: the response is incomplete
	options    *Options
	body       *body
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// Caller returns the id of the token that sent the request, or "" if there is none.
func Caller(ctx context.Context) string {
	if x := exchangeOf(ctx); x != nil {
		return x.grant.Token
	}
	return ""
}

// grantOf returns the rights of the caller's token.
func grantOf(ctx context.Context) Grant { return exchangeOf(ctx).grant }

// requestID returns the client's X-Request-Id if it is safe to log, otherwise a random id.
func requestID(r *http.Request) string {
	if ids := r.Header.Values("X-Request-Id"); len(ids) == 1 && isPlainName(ids[0], 64) {
		return ids[0]
	}
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// isPlainName says whether s consists of 1 to limit letters, digits, dots, dashes and
// underscores.
func isPlainName(s string, limit int) bool {
	if s == "" || len(s) > limit {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// writer is a response with a write timeout: it fails if the client reads nothing for a while.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	wait    time.Duration
	status  int  // 0: no header was sent yet
	broken  bool // a write failed
	result  any  // the reply, for the audit log
}

func newWriter(w http.ResponseWriter, wait time.Duration) *writer {
	return &writer{ResponseWriter: w, control: http.NewResponseController(w), wait: wait}
}

// extend renews the write deadline. Sockets use the machine's clock. A test recorder has no
// deadline; the error is ignored.
func (w *writer) extend() { _ = w.control.SetWriteDeadline(time.Now().Add(w.wait)) }

func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

// Write writes in pieces, so that each piece of a long response has the full timeout.
func (w *writer) Write(p []byte) (int, error) {
	const piece = 64 << 10
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	done := 0
	for {
		part := p[done:min(done+piece, len(p))]
		w.extend()
		n, err := w.ResponseWriter.Write(part)
		done += n
		if err != nil || done >= len(p) {
			w.broken = w.broken || err != nil && !errors.Is(err, http.ErrBodyNotAllowed)
			return done, err
		}
	}
}

// FlushError sends buffered data to the client.
func (w *writer) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.extend()
	err := w.control.Flush()
	w.broken = w.broken || err != nil
	return err
}

// errClientGone says that the client has disconnected.
var errClientGone = errors.New("the client disconnected")

// statusClientGone is the logged status of requests whose client disconnected. It is never
// sent.
const statusClientGone = 499

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	began := s.Now()
	w := newWriter(rw, s.WriteTimeout)
	x := &exchange{id: requestID(r), path: r.URL.Path, uri: r.URL.RequestURI(), options: &s.Options, body: newBody(r, w.control, &s.Options)}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	r.Body = x.body
	status := s.dispatch(w, r, x)
	took := s.Now().Sub(began)
	s.Logger.LogAttrs(r.Context(), levelOf(x, status), "request", slog.String("id", x.id), slog.String("op", x.route.op),
		slog.Int("status", status), slog.Float64("ms", float64(took)/float64(time.Millisecond)),
		slog.String("token", x.grant.Token), slog.String("problem", string(x.problem)))
	if s.Observer.Request != nil {
		s.Observer.Request(x.route.op, status, took)
	}
	s.audit(x, w, status)
	if x.cut {
		panic(http.ErrAbortHandler) // otherwise net/http would end the response normally
	}
	if !x.body.ended() {
		x.body.extend() // net/http reads the rest of the body; limit how long it waits
	}
}

// levelOf returns the log level of a request. Info has what an owner needs: failures of
// percached, and refused tokens. A client learns from the response about its own mistakes, and
// clients poll /readyz.
func levelOf(x *exchange, status int) slog.Level {
	refused := status == http.StatusUnauthorized || status == http.StatusForbidden
	if x.route.op != "ready" && (status >= http.StatusInternalServerError || refused) {
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// dispatch serves a request or sends a problem, and returns the status.
func (s *Server) dispatch(w *writer, r *http.Request, x *exchange) (status int) {
	defer func() {
		switch p := recover(); {
		case p == nil:
		case p == http.ErrAbortHandler:
			x.cut, status = true, statusClientGone
		default:
			s.Logger.LogAttrs(r.Context(), slog.LevelError, "handler panicked", slog.String("id", x.id),
				slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
			status = s.fail(w, r, x, fault.New(fault.Internal, "api", "handler panicked"))
		}
	}()
	if err := s.checkRequest(w, r); err != nil {
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
		return statusClientGone
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.status
}

// noteProblem records the problem for the request log. It logs the cause of an internal
// failure, which the client does not see.
func (x *exchange) noteProblem(name problem, err error) {
	x.problem = name
	if problems[name].status >= 500 && name != problemStarting && name != problemReadOnly {
		x.options.Logger.Error("request failed", "id", x.id, "error", err)
	}
}

// fail sends a problem if the client is still connected, and returns the status.
func (s *Server) fail(w *writer, r *http.Request, x *exchange, err error) int {
	name, _, _ := problemFor(err)
	// A read timeout also cancels the request's context.
	if errors.Is(err, errClientGone) || r.Context().Err() != nil && name != problemSlowRequest {
		x.cut = true
		return statusClientGone
	}
	x.noteProblem(name, err)
	row := problems[name]
	if w.status != 0 { // the header is sent already: cut the connection
		x.cut = true
		return row.status
	}
	x.body.discardReceived(r)
	rest := !x.body.ended() && r.ProtoMajor == 1
	if rest {
		w.Header().Set("Connection", "close")
		_ = w.control.EnableFullDuplex() // send the response before the rest of the body is read
	}
	x.writeProblem(w, err)
	if rest && w.FlushError() == nil && !w.broken {
		x.body.discardRest(r)
	}
	return row.status
}
