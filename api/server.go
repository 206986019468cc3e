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

// New makes a server in front of a backend.
func New(b Backend, o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	v := reflect.ValueOf(b)
	for i := range v.NumField() {
		if v.Field(i).IsNil() {
			return nil, fault.New(fault.Invalid, "api.New", "the backend has no %s", v.Type().Field(i).Name)
		}
	}
	uploads := o.MaxRequests / 4 // they are few and take long
	s := &Server{
		Options: o, backend: b,
		requests: newSlots(o.MaxRequests - uploads), uploads: newSlots(max(uploads, 1)), streams: newSlots(o.MaxStreams),
	}
	s.router = s.newRouter()
	return s, nil
}

// newRouter leads each request to what serves it. What is served leaves its
// error in the exchange.
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
	m.NotFound(func(_ http.ResponseWriter, r *http.Request) {
		exchangeOf(r.Context()).err = refuse(problemNoOperation, "")
	})
	notAllowed := func(w http.ResponseWriter, r *http.Request) {
		for _, method := range allowed[m.Find(chi.NewRouteContext(), http.MethodGet, r.URL.Path)] {
			w.Header().Add("Allow", method)
		}
		exchangeOf(r.Context()).err = refuse(problemMethod, "")
	}
	m.MethodNotAllowed(notAllowed)
	for path, own := range allowed { // or "entries/export" would be an entry for other methods
		for _, method := range everyMethod {
			if !slices.Contains(own, method) {
				m.MethodFunc(method, path, notAllowed)
			}
		}
	}
	return m
}

// everyMethod is one that a path may have.
var everyMethod = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// streams says whether an operation sends as long as it has something.
func (r route) streams() bool {
	return r.op == "events" || r.op == "exportEntries" || r.op == "backup"
}

// openAIs are the beginnings of what OpenAI's clients call, also of what is not here.
var openAIs = []string{"/v1/chat/", "/v1/completions", "/v1/embeddings", "/v1/models", "/v1/responses"}

// forOpenAI says whether OpenAI's clients call a path.
func forOpenAI(path string) bool {
	return slices.ContainsFunc(openAIs, func(begin string) bool { return strings.HasPrefix(path, begin) })
}

// Options of a Server. Start from Default.
type Options struct {
	// Authorize says what a token allows. It compares in constant time.
	Authorize func(secret string) (Grant, bool)
	// Ready says whether the backend can be called.
	Ready func() Ready
	// Spec is openapi.yaml.
	Spec []byte
	// Metrics serves /metrics.
	Metrics http.Handler
	// Hub is the source of /v1/events.
	Events *EventBus
	// Version of percached, for those who ask whether it lives.
	Version string

	// Hosts are the names under which clients may call, beside localhost and
	// the loopback addresses: "name" or "name:port".
	Hosts []string
	// Origins from which pages in a browser may call; none: from no other than
	// percached's own.
	Origins []string

	MaxBody      int64         // bytes of a body that is held in memory
	MaxUpload    int64         // bytes of an upload
	MaxRequests  int           // at the same time, a quarter of them uploads; others are told to come back
	MaxStreams   int           // of /v1/events at the same time
	SendTimeout  time.Duration // a client that sends nothing of its body for so long is given up
	WriteTimeout time.Duration // a client that reads nothing for so long is given up
	AskTimeout   time.Duration // a question takes no longer
	Heartbeat    time.Duration // an event stream says something at least so often

	Now      func() time.Time
	Logger   *slog.Logger
	Observer Observer
}

// Observer is told of what goes on. Any func may be nil.
type Observer struct {
	// Request: an operation was served; op is its operationId, or empty where
	// no operation was reached.
	Request func(op string, status int, took time.Duration)
	// Working: a request with a token got a place, and has it until done is called.
	// The context is the request's.
	Working func(ctx context.Context, token string) (done func())
}

// Default needs Authorize, Ready and a Hub.
func Default() Options {
	return Options{
		MaxBody: 1 << 20, MaxUpload: 4 << 30, MaxRequests: 256, MaxStreams: 32,
		SendTimeout: 15 * time.Second, WriteTimeout: 15 * time.Second, AskTimeout: 10 * time.Minute, Heartbeat: 15 * time.Second,
		Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	}
}

// Validate tells all that is wrong with the options.
func (o Options) Validate() error {
	var faults []error
	no := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fault.New(fault.Invalid, "api.Options", format, args...))
		}
	}
	no(o.Authorize == nil, "nobody says what tokens allow")
	no(o.Ready == nil, "nobody says whether the backend can be called")
	no(o.Events == nil, "there is no source of events")
	no(o.Now == nil, "there is no clock")
	no(o.Logger == nil, "there is no logger")
	no(o.MaxBody < 1, "a body of %d bytes is none: at least 1", o.MaxBody)
	no(o.MaxUpload < 1, "an upload of %d bytes is none: at least 1", o.MaxUpload)
	no(o.MaxRequests < 1, "%d requests at the same time are none: at least 1", o.MaxRequests)
	no(o.MaxStreams < 0, "%d streams of events cannot be", o.MaxStreams)
	no(o.SendTimeout <= 0, "clients need time to send: more than %v", o.SendTimeout)
	no(o.WriteTimeout <= 0, "clients need time to read: more than %v", o.WriteTimeout)
	no(o.AskTimeout <= 0, "questions need time: more than %v", o.AskTimeout)
	no(o.Heartbeat <= 0, "a stream cannot say something every %v", o.Heartbeat)
	no(slices.ContainsFunc(o.Hosts, func(h string) bool { return h == "" || strings.ContainsAny(h, "/@*?# ") }), "a host is a name, or a name and a port")
	no(slices.ContainsFunc(o.Origins, func(o string) bool { return !isOrigin(o) }), "an origin is a scheme, ://, a name in small letters, and a port if it is not the usual one")
	return errors.Join(faults...)
}

// isOrigin says whether a browser, or the view of an app, would write an origin so.
func isOrigin(s string) bool {
	scheme, host, ok := strings.Cut(s, "://")
	u, err := url.Parse(s)
	return ok && err == nil && s == strings.ToLower(s) && u.Scheme == scheme && u.Host == host && host != "" && !strings.ContainsAny(host, "*@ ")
}
