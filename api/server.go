package api

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/percached/percached/internal/base/fault"
)

// Server is the HTTP interface.
type Server struct {
	Options
	backend  Backend
	router   *chi.Mux
	requests *places
	uploads  *places
	streams  *places
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
		requests: newPlaces(o.MaxRequests - uploads), uploads: newPlaces(max(uploads, 1)), streams: newPlaces(o.MaxStreams),
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
