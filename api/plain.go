package api

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/percached/percached/internal/base/fault"
)

// health answers that the daemon lives.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, struct {
		Status  string `json:"status"`
		Version string `json:"version"`
	}{"ok", s.Version})
}

// ready answers whether questions can be asked, and how far loading is.
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
	if s.Metrics == nil {
		return refuse(problemUnsupported, "")
	}
	s.Metrics.ServeHTTP(w, r)
	return nil
}

// spaces lists the spaces of the caller.
func (s *Server) spaces(w http.ResponseWriter, r *http.Request) error {
	if _, err := params[Nothing](r); err != nil {
		return err
	}
	seen, err := s.seen(r)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, seen)
}

// seen are the spaces of the caller. A token of one space has just that one
// looked up: how many others there are shows in nothing, nor in the time it
// takes.
func (s *Server) seen(r *http.Request) (all Spaces, err error) {
	own := grantOf(r.Context()).Space
	if own == "" {
		all, err = s.backend.Spaces(r.Context(), Nothing{})
	} else {
		var one Space
		one, err = s.backend.Space(r.Context(), InSpace{own})
		all.Spaces = []Space{one}
		if fault.KindOf(err) == fault.NotFound {
			all, err = Spaces{}, nil
		}
	}
	return all, err
}

const mergeType = "application/merge-patch+json"

func (s *Server) changeSpace(w http.ResponseWriter, r *http.Request) error {
	in, err := params[InSpace](r)
	if err != nil {
		return err
	}
	if err := ofType(r, jsonType, mergeType); err != nil {
		return err
	}
	text, err := readText(r)
	if err != nil {
		return err
	}
	var object map[string]json.RawMessage
	if err := unmarshal(text, &object, true); err != nil {
		return err
	}
	space, err := s.backend.ChangeSpace(r.Context(), SpaceChange{in, bytes.TrimSpace(text)})
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, space)
}

const linesType = "application/x-ndjson"

// exportEntries sends a line for each entry. If something fails behind the first
// one, the connection is cut: an export that ends well is whole.
func (s *Server) exportEntries(w http.ResponseWriter, r *http.Request) error {
	in, err := params[InSpace](r)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", linesType)
	h.Set("Content-Disposition", `attachment; filename="entries.ndjson"`)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	_, err = s.backend.Export(r.Context(), Export{in, func(e ExportedEntry) error {
		if err := lines.Encode(whole(e)); err != nil {
			return errGone
		}
		return nil
	}})
	return err
}

func (s *Server) importEntries(w http.ResponseWriter, r *http.Request) error {
	in, err := params[InSpace](r)
	if err != nil {
		return err
	}
	if err := ofType(r, linesType, "application/jsonl"); err != nil {
		return err
	}
	allow(r, s.MaxUpload)
	out, err := s.backend.Import(r.Context(), Import{in, r.Body})
	if body := exchangeOf(r.Context()).body.fault(); err == nil && body != nil {
		err = body // what came in is not all that was sent
	}
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}
