package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// Space is one partition of the documents.
type Space struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"`
	Documents int      `json:"documents"`
	Chunks    int      `json:"chunks"`
	Settings  Settings `json:"settings"` // set for this space
	// Effective holds the settings in effect, without prompts.
	Effective Settings `json:"effective"`
}

// Settings override the service's settings in one space. An absent setting is inherited.
type Settings struct {
	percached.Settings
	Prompts *Prompts `json:"prompts,omitempty"`
}

// Prompts override the built-in prompts in one space. An absent prompt is the built-in one.
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

// NewSpace is the body of a request to create a space.
type NewSpace struct {
	Name     string   `json:"name"`
	Kind     Given    `json:"kind"` // absent: emails
	Settings Settings `json:"settings"`
}

// InSpace names a space.
type InSpace struct {
	Space string `path:"space"`
}

// SpaceName returns the name of the space.
func (in InSpace) SpaceName() string { return in.Space }

// DeleteRequest names a space to delete, or a document of one.
type DeleteRequest struct {
	InSpace
	Document percached.DocumentID `path:"document"` // zero: delete the whole space
	// CleanUp waits until the bytes are removed from the disk.
	CleanUp bool `query:"clean_up"`
}

// DeleteDocumentRequest names a document to delete.
type DeleteDocumentRequest struct {
	DeleteRequest
	// Remember keeps the document out of later uploads. The default is true.
	Remember bool `query:"remember"`
}

func (in *DeleteDocumentRequest) defaults() { in.Remember = true }

// BytesState says whether deleted data is still on the disk.
type BytesState string

// The states of deleted bytes.
const (
	BytesPending BytesState = "pending" // background work removes them
	BytesGone    BytesState = "gone"    // no file of the data folder contains any
)

// Deletions sums up the deletions in a space.
type Deletions struct {
	Bytes      BytesState `json:"bytes"`
	Pending    int        `json:"pending"`    // deletions whose bytes are on the disk
	Remembered int        `json:"remembered"` // deleted documents that uploads leave out
}

// SpaceChange changes a space's settings. Merge is a JSON merge patch (RFC 7396), checked to be
// an object; null resets a setting.
type SpaceChange struct {
	InSpace
	Merge []byte `body:"merge"`
}

// Receipt counts the deleted data.
type Receipt struct {
	Documents   int   `json:"documents"`
	Chunks      int   `json:"chunks"`
	Vectors     int   `json:"vectors"`
	Indexed     int   `json:"indexed"` // chunks removed from the word index
	Slices      int   `json:"slices"`
	SliceBytes  int64 `json:"slice_bytes"`
	Entries     int   `json:"entries"`
	History     int   `json:"history"`
	Summaries   int   `json:"summaries"`
	Predictions int   `json:"predictions"`
	Turns       int   `json:"turns"` // of conversations
	// CleanedUp says that no file of the data folder contains the deleted data. Bytes says the
	// same as a state.
	CleanedUp bool       `json:"cleaned_up"`
	Bytes     BytesState `json:"bytes"`
}

// spaces lists the spaces that the caller sees.
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

// visibleSpaces returns the caller's spaces. For a token for single spaces it reads those
// only, so that not even the response time depends on the others.
func (s *Server) visibleSpaces(r *http.Request) (all Spaces, err error) {
	grant := grantOf(r.Context())
	if !grant.isScoped() {
		return s.backend.Spaces(r.Context(), Nothing{})
	}
	for _, own := range grant.spaces() {
		one, err := s.backend.Space(r.Context(), InSpace{own})
		switch {
		case err == nil:
			all.Spaces = append(all.Spaces, one)
		case fault.KindOf(err) != fault.NotFound:
			return Spaces{}, err
		}
	}
	return all, nil
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
	exchangeOf(r.Context()).keys = slices.Sorted(maps.Keys(object))
	space, err := s.backend.ChangeSpace(r.Context(), SpaceChange{in, bytes.TrimSpace(text)})
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, space)
}
