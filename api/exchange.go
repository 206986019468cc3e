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

// exchange is one request and what is known of it, for those who serve it.
type exchange struct {
	id      string
	path    string
	route   route // empty where none was reached
	grant   Grant
	err     error   // why the request could not be served
	problem problem // that was told, if any
	cut     bool    // the connection is to be cut: the response is not whole
	options *Options
	body    *body
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// Caller is the id of the token whose request a backend serves; empty: it is not known.
func Caller(ctx context.Context) string {
	if x := exchangeOf(ctx); x != nil {
		return x.grant.Token
	}
	return ""
}

// grantOf is what the caller's token allows.
func grantOf(ctx context.Context) Grant { return exchangeOf(ctx).grant }

// requestID is what the client calls its request, if that can stand in a log,
// else a name made up.
func requestID(r *http.Request) string {
	if ids := r.Header.Values("X-Request-Id"); len(ids) == 1 && isPlainName(ids[0], 64) {
		return ids[0]
	}
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// plainName says whether s has 1 to limit of letters, digits, dot, dash and
// underscore.
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

// writer is a response whose reader is given up when it reads nothing for a
// while.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	wait    time.Duration
	status  int  // 0: nothing was said yet
	broken  bool // what was written did not arrive
}

func newWriter(w http.ResponseWriter, wait time.Duration) *writer {
	return &writer{ResponseWriter: w, control: http.NewResponseController(w), wait: wait}
}

// extend gives the reader new time. Sockets go by the machine's clock, and where
// there is none (in a recorder), there is nothing to wait for.
func (w *writer) extend() { _ = w.control.SetWriteDeadline(time.Now().Add(w.wait)) }

func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

// Write writes in pieces, so that a slow reader of much has time for each.
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

// FlushError sends what was written.
func (w *writer) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.extend()
	err := w.control.Flush()
	w.broken = w.broken || err != nil
	return err
}

// errGone says that the client reads no more.
var errClientGone = errors.New("the client is gone")

// gone is the status that the log has for requests whose client did not wait.
// It is never sent.
const statusClientGone = 499

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	began := s.Now()
	w := newWriter(rw, s.WriteTimeout)
	x := &exchange{id: requestID(r), path: r.URL.Path, options: &s.Options, body: newBody(r, w.control, &s.Options)}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	r.Body = x.body
	status := s.dispatch(w, r, x)
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
func (s *Server) dispatch(w *writer, r *http.Request, x *exchange) (status int) {
	defer func() {
		switch p := recover(); {
		case p == nil:
		case p == http.ErrAbortHandler:
			x.cut, status = true, statusClientGone
		default:
			s.Logger.LogAttrs(r.Context(), slog.LevelError, "a handler broke", slog.String("id", x.id),
				slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
			status = s.fail(w, r, x, fault.New(fault.Internal, "api", "a handler broke"))
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

// note writes down why a request could not be served: for the log, and the cause
// where the client does not learn it.
func (x *exchange) noteProblem(name problem, err error) {
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
	if errors.Is(err, errClientGone) || r.Context().Err() != nil && name != problemSlowRequest {
		x.cut = true
		return statusClientGone
	}
	x.noteProblem(name, err)
	row := problems[name]
	if w.status != 0 { // the client sees that the rest is missing
		x.cut = true
		return row.status
	}
	x.body.discardReceived(r)
	rest := !x.body.ended() && r.ProtoMajor == 1
	if rest {
		w.Header().Set("Connection", "close")
		_ = w.control.EnableFullDuplex() // the answer goes first, the rest of the body comes behind it
	}
	x.writeProblem(w, err)
	if rest && w.FlushError() == nil && !w.broken {
		x.body.discardRest(r)
	}
	return row.status
}
