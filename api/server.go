package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/percached/percached/internal/base/fault"
)

// Server is the HTTP interface.
type Server struct {
	Options
	backend  Backend
	router   *chi.Mux
	requests *slots
	uploads  *slots
	streams  *slots
}

// New returns a server for a backend.
func New(b Backend, o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	v := reflect.ValueOf(b)
	for i := range v.NumField() {
		if v.Field(i).IsNil() {
			return nil, fault.New(fault.Invalid, "api.New", "Backend.%s is nil", v.Type().Field(i).Name)
		}
	}
	uploads := o.MaxRequests / 4 // transfers are few and slow
	s := &Server{
		Options: o, backend: b,
		requests: newSlots(o.MaxRequests - uploads), uploads: newSlots(max(uploads, 1)), streams: newSlots(o.MaxStreams),
	}
	s.router = s.newRouter()
	return s, nil
}

// newRouter routes each request to its operation. The handler's error is stored in the
// exchange.
func (s *Server) newRouter() *chi.Mux {
	m := chi.NewRouter()
	allowed := map[string][]string{} // methods by path
	for _, rt := range s.routes() {
		serve := func(w http.ResponseWriter, r *http.Request) {
			exchangeOf(r.Context()).err = s.serve(rt, w, r)
		}
		own := []string{rt.method}
		if rt.method == http.MethodGet && !rt.streams() {
			own = append(own, http.MethodHead)
		}
		for _, method := range own {
			m.MethodFunc(method, rt.path, serve)
		}
		allowed[rt.path] = append(allowed[rt.path], own...)
	}
	m.NotFound(func(w http.ResponseWriter, r *http.Request) {
		if s.isPassable(r.URL.Path) {
			exchangeOf(r.Context()).err = s.passPath(w, r)
			return
		}
		exchangeOf(r.Context()).err = refuse(problemNoOperation, "")
	})
	notAllowed := func(w http.ResponseWriter, r *http.Request) {
		for _, method := range allowed[m.Find(chi.NewRouteContext(), http.MethodGet, r.URL.Path)] {
			w.Header().Add("Allow", method)
		}
		exchangeOf(r.Context()).err = refuse(problemMethod, "")
	}
	m.MethodNotAllowed(notAllowed)
	for path, own := range allowed { // otherwise other methods of "entries/export" would match "entries/{entry}"
		for _, method := range everyMethod {
			if !slices.Contains(own, method) {
				m.MethodFunc(method, path, notAllowed)
			}
		}
	}
	return m
}

// everyMethod lists the methods that get status 405 on a path without them.
var everyMethod = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// streams says whether an operation sends data for an unlimited time.
func (r route) streams() bool {
	return r.op == "events" || r.op == "exportEntries" || r.op == "exportSpace" || r.op == "backup"
}

// openAIs are the path prefixes of OpenAI's interface, including parts that percached does not
// implement.
var openAIs = []string{"/v1/chat/", "/v1/completions", "/v1/embeddings", "/v1/models", "/v1/responses"}

// forOpenAI says whether a path belongs to OpenAI's interface.
func forOpenAI(path string) bool {
	return slices.ContainsFunc(openAIs, func(begin string) bool { return strings.HasPrefix(path, begin) })
}

// Options configure a Server. Start from Default.
type Options struct {
	// Authorize returns the grant of a token. It compares in constant time. An error of the kind
	// Unavailable says that it cannot be checked now; others say why it is refused.
	Authorize func(ctx context.Context, secret string) (Grant, error)
	// Ready says whether the backend is ready.
	Ready func() Ready
	// Spec is openapi.yaml.
	Spec []byte
	// Metrics serves /metrics.
	Metrics http.Handler
	// Events is the source of /v1/events.
	Events *EventBus
	// Quota books n uses of a token, gives them back if n is negative, or says which limit they exceed. Nil: there are no quotas.
	Quota func(token string, use QuotaUse, n int64) *QuotaRefusal
	// Audit keeps the audit log.
	Audit Audit
	// Upstream gets what percached does not serve of OpenAI's interface. Nil: it is refused.
	Upstream *Upstream
	// Version is percached's version, shown by /healthz.
	Version string

	// Hosts are allowed Host headers, besides localhost and loopback addresses: "name" or
	// "name:port".
	Hosts []string
	// Origins are web origins that may call percached. If empty, only percached's own page may.
	Origins []string

	MaxBody      int64         // largest body held in memory, in bytes
	MaxUpload    int64         // largest upload, in bytes
	MaxRequests  int           // concurrent requests, a quarter of them uploads; more are refused
	MaxStreams   int           // concurrent streams of /v1/events
	SendTimeout  time.Duration // longest pause of a client that sends a body
	WriteTimeout time.Duration // longest pause of a client that reads a response
	AskTimeout   time.Duration // maximum time to answer a question
	Heartbeat    time.Duration // longest silence of an event stream

	Now      func() time.Time
	Logger   *slog.Logger
	Observer Observer
}

// Observer receives what the server does. Any func may be nil.
type Observer struct {
	// Request reports a served request. op is the operationId, or empty if no route matched.
	Request func(op string, status int, took time.Duration)
	// Working reports that a request with a token got a slot. The server calls done when it ends.
	Working func(ctx context.Context, token string) (done func())
	// Asked reports a question that was answered or failed.
	Asked func(AskedQuestion)
}

// AskedQuestion is a question with its times.
type AskedQuestion struct {
	Operation    string // its operationId
	Request      string // the request's id
	Header       http.Header
	Began, Ended time.Time
	Answer       Answer
	Failure      string // the name of a problem; empty: answered
}

// Default returns the default options. Set Authorize, Ready and Events.
func Default() Options {
	return Options{
		MaxBody: 1 << 20, MaxUpload: 4 << 30, MaxRequests: 256, MaxStreams: 32,
		SendTimeout: 15 * time.Second, WriteTimeout: 15 * time.Second, AskTimeout: 10 * time.Minute, Heartbeat: 15 * time.Second,
		Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	}
}

// Validate reports all invalid options together.
func (o Options) Validate() error {
	var faults []error
	no := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fault.New(fault.Invalid, "api.Options", format, args...))
		}
	}
	no(o.Authorize == nil, "Authorize is nil")
	no(o.Ready == nil, "Ready is nil")
	no(o.Events == nil, "Events is nil")
	no(o.Now == nil, "Now is nil")
	no(o.Logger == nil, "Logger is nil")
	no(o.MaxBody < 1, "MaxBody is %d bytes, must be at least 1", o.MaxBody)
	no(o.MaxUpload < 1, "MaxUpload is %d bytes, must be at least 1", o.MaxUpload)
	no(o.MaxRequests < 1, "MaxRequests is %d, must be at least 1", o.MaxRequests)
	no(o.MaxStreams < 0, "MaxStreams is %d, must be at least 0", o.MaxStreams)
	no(o.SendTimeout <= 0, "SendTimeout is %v, must be more than 0", o.SendTimeout)
	no(o.WriteTimeout <= 0, "WriteTimeout is %v, must be more than 0", o.WriteTimeout)
	no(o.AskTimeout <= 0, "AskTimeout is %v, must be more than 0", o.AskTimeout)
	no(o.Heartbeat <= 0, "Heartbeat is %v, must be more than 0", o.Heartbeat)
	for _, err := range []error{CheckHosts(o.Hosts), CheckOrigins(o.Origins), o.Audit.validate()} {
		no(err != nil, "%w", err)
	}
	return errors.Join(faults...)
}

// CheckHosts says what is wrong with the names in Options.Hosts.
func CheckHosts(hosts []string) error {
	if slices.ContainsFunc(hosts, func(h string) bool { return h == "" || strings.ContainsAny(h, "/@*?# ") }) {
		return errors.New("invalid host: use NAME or NAME:PORT")
	}
	return nil
}

// CheckOrigins says what is wrong with Options.Origins.
func CheckOrigins(origins []string) error {
	if slices.ContainsFunc(origins, func(o string) bool { return !isOrigin(o) }) {
		return errors.New("invalid origin: use SCHEME://NAME or SCHEME://NAME:PORT in lower case, without a default port")
	}
	return nil
}

// isOrigin says whether s is written as browsers and app views send an origin.
func isOrigin(s string) bool {
	scheme, host, ok := strings.Cut(s, "://")
	u, err := url.Parse(s)
	return ok && err == nil && s == strings.ToLower(s) && u.Scheme == scheme && u.Host == host && host != "" && !strings.ContainsAny(host, "*@ ")
}
