package api

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// Space is one partition of the documents.
type Space struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	Documents int      `json:"documents"`
	Chunks    int      `json:"chunks"`
	Settings  Settings `json:"settings"` // what the space wants otherwise
	// Effective is what holds in the space. Its prompts are left out.
	Effective Settings `json:"effective"`
}

// Settings are what a space wants otherwise than the service; what is absent is
// the service's own.
type Settings struct {
	percached.Settings
	Prompts *Prompts `json:"prompts,omitempty"`
}

// Prompts are a space's own wordings of prompts; what is absent is built in.
type Prompts struct {
	Instructions *string `json:"instructions,omitempty"`
	Abstract     *string `json:"abstract,omitempty"`
	Knowledge    *string `json:"knowledge,omitempty"`
	History      *string `json:"history,omitempty"`
}

// Spaces lists spaces.
type Spaces struct {
	Spaces []Space `json:"spaces"`
}

// NewSpace is a space to be made.
type NewSpace struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"` // empty: emails
	Settings Settings `json:"settings"`
}

// InSpace names a space.
type InSpace struct {
	Space string `path:"space"`
}

// Forgetting names a space that is to go, or a document of one.
type DeleteRequest struct {
	InSpace
	Document percached.DocumentID `path:"document"` // zero: the whole space
	// CleanUp waits until the bytes have left the disk, too.
	CleanUp bool `query:"clean_up"`
}

// SpaceChange changes a space's settings. Merge is a JSON merge patch of them
// (RFC 7396): null takes a setting back. It has been checked to be an object.
type SpaceChange struct {
	InSpace
	Merge []byte `body:"merge"`
}

// Receipt counts what was forgotten.
type Receipt struct {
	Documents   int   `json:"documents"`
	Chunks      int   `json:"chunks"`
	Vectors     int   `json:"vectors"`
	Indexed     int   `json:"indexed"` // chunks in the index of words
	Slices      int   `json:"slices"`
	SliceBytes  int64 `json:"slice_bytes"`
	Entries     int   `json:"entries"`
	History     int   `json:"history"`
	Summaries   int   `json:"summaries"`
	Predictions int   `json:"predictions"`
	// CleanedUp says that no file of the data folder holds any of it any more.
	CleanedUp bool `json:"cleaned_up"`
}

// spaces lists the spaces of the caller.
func (s *Server) spaces(w http.ResponseWriter, r *http.Request) error {
	if _, err := params[Nothing](r); err != nil {
		return err
	}
	seen, err := s.visibleSpaces(r)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, seen)
}

// seen are the spaces of the caller. A token of one space has just that one
// looked up: how many others there are shows in nothing, nor in the time it
// takes.
func (s *Server) visibleSpaces(r *http.Request) (all Spaces, err error) {
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
	if err := requireType(r, jsonType, mergeType); err != nil {
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
