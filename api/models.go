package api

import (
	"net/http"
	"slices"
)

// models answers GET /v1/models: the spaces that the caller may ask in, and the
// embedder.
func (s *Server) models(w http.ResponseWriter, r *http.Request) error {
	about, err := s.backend.About(r.Context(), Nothing{})
	if err != nil {
		return err
	}
	spaces, err := s.spaceModels(r, about)
	if err != nil {
		return err
	}
	if e := modelOf(about.Embedder.Name, about); !slices.Contains(spaces, e) {
		spaces = append(spaces, e)
	}
	return reply(w, http.StatusOK, modelList{Object: "list", Data: spaces})
}

// model answers GET /v1/models/{model}.
func (s *Server) model(w http.ResponseWriter, r *http.Request) error {
	about, err := s.backend.About(r.Context(), Nothing{})
	if err != nil {
		return err
	}
	want := modelOf(r.PathValue("model"), about)
	if want.ID == about.Embedder.Name {
		return reply(w, http.StatusOK, want)
	}
	// Who sees one space alone learns nothing of other names, not even whether
	// they are taken.
	if !grantOf(r.Context()).sees(want.ID) {
		return refuse(problemForbidden, "")
	}
	spaces, err := s.spaceModels(r, about)
	if err != nil {
		return err
	}
	if !slices.Contains(spaces, want) {
		return refuse(problemModelNotFound, "")
	}
	return reply(w, http.StatusOK, want)
}

// spaceModels are the spaces that the caller can name as a model.
func (s *Server) spaceModels(r *http.Request, about About) ([]modelItem, error) {
	seen, err := s.seen(r)
	if err != nil {
		return nil, err
	}
	items := make([]modelItem, len(seen.Spaces))
	for i, space := range seen.Spaces {
		items[i] = modelOf(space.Name, about)
	}
	return items, nil
}

func modelOf(name string, about About) modelItem {
	return modelItem{ID: name, Object: "model", Created: about.Started.Unix(), OwnedBy: "percached"}
}
