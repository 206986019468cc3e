package api

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/percached/percached/api/page"
	"github.com/percached/percached/internal/base/fault"
)

// health reports that the daemon runs. Probes may send parameters of their own, also to ready.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, struct {
		Status  string `json:"status"`
		Version string `json:"version"`
	}{"ok", s.Version})
}

// ready reports whether percached accepts questions.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) error {
	now := s.Ready()
	if !now.Ready {
		w.Header().Set("Retry-After", "1")
		return reply(w, http.StatusServiceUnavailable, now)
	}
	return reply(w, http.StatusOK, now)
}

func (s *Server) spec(w http.ResponseWriter, r *http.Request) error {
	if _, err := params[Nothing](r); err != nil {
		return err
	}
	if len(s.Spec) == 0 {
		return refuse(problemUnsupported, "")
	}
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(s.Spec)
	return nil
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) error {
	if _, err := params[Nothing](r); err != nil {
		return err
	}
	if s.Metrics == nil {
		return refuse(problemUnsupported, "")
	}
	s.Metrics.ServeHTTP(w, r)
	return nil
}

// page serves the web page. It contains no data: the page calls the other operations with the
// user's token.
func (s *Server) page(w http.ResponseWriter, r *http.Request) error {
	if _, err := params[Nothing](r); err != nil {
		return err
	}
	writePageFile(w, page.Index())
	return nil
}

// pageFile serves a file of the web page.
func (s *Server) pageFile(w http.ResponseWriter, r *http.Request) error {
	in, err := params[struct {
		File string `path:"file"`
	}](r)
	if err != nil {
		return err
	}
	f, ok := page.Named(in.File)
	if !ok {
		return fault.New(fault.NotFound, "api.pageFile", "the web page has no such file")
	}
	writePageFile(w, f)
	return nil
}

// writePageFile sends a file of the page. Its policy allows scripts from this origin only, and
// a page that opened it gets no reference to its window.
func writePageFile(w http.ResponseWriter, f page.File) {
	h := w.Header()
	h.Set("Content-Security-Policy", page.Policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache") // a new version has a new page
	h.Set("Content-Type", f.Type)
	h.Set("Content-Length", strconv.Itoa(len(f.Content)))
	_, _ = w.Write(f.Content) // net/http reports a disconnected client
}

// isPageNavigation says whether a browser opens the page in a window of its own, for example
// from a link. The linking page cannot read it.
func isPageNavigation(r *http.Request) bool {
	is := func(name, want string) bool { return strings.EqualFold(r.Header.Get(name), want) }
	return r.Method == http.MethodGet && r.URL.Path == "/" && is("Sec-Fetch-Mode", "navigate") && is("Sec-Fetch-Dest", "document")
}
