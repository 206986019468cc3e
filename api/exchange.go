package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"time"
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
	if ids := r.Header.Values("X-Request-Id"); len(ids) == 1 && plainName(ids[0], 64) {
		return ids[0]
	}
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// plainName says whether s has 1 to limit of letters, digits, dot, dash and
// underscore.
func plainName(s string, limit int) bool {
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
