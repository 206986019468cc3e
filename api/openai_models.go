package api

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

// models answers GET /v1/models with the spaces that the caller sees, and the embedder.
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
	// A token for one space must not learn which other spaces exist.
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

// spaceModels lists the spaces that the caller can use as a model.
func (s *Server) spaceModels(r *http.Request, about About) ([]modelItem, error) {
	seen, err := s.visibleSpaces(r)
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

const (
	maxInputs = 256      // texts per request
	maxInput  = 4 * 8192 // bytes per text
)

// embeddingRequest is an embedding request. There is one embedder, so any model name selects
// it; the response names it.
type embeddingRequest struct {
	Model      *string         `json:"model"`
	Input      json.RawMessage `json:"input"` // a string, or an array of strings
	Format     *string         `json:"encoding_format"`
	Dimensions *int            `json:"dimensions"`
}

// asked returns the texts to embed, and whether the vectors are sent in base64.
func (q *embeddingRequest) asked() (texts []string, inBase64 bool, err error) {
	var u chatFaults
	if q.Format != nil {
		if inBase64 = *q.Format == "base64"; !inBase64 && *q.Format != "float" {
			u.invalid("/encoding_format", "must be float or base64")
		}
	}
	u.positive("/dimensions", q.Dimensions)
	texts = u.input(q.Input)
	return texts, inBase64, u.err()
}

// input reads one text or a list of texts.
func (u *chatFaults) input(raw json.RawMessage) []string {
	var one *string
	if len(raw) > 0 && json.Unmarshal(raw, &one) == nil && one != nil {
		u.text("/input", *one)
		return []string{*one}
	}
	var list []any
	switch err := json.Unmarshal(raw, &list); {
	case err != nil || list == nil:
		u.invalid("/input", "must be a string or an array of strings")
	case len(list) == 0 || len(list) > maxInputs:
		u.invalid("/input", "must contain 1 to %d texts", maxInputs)
	}
	texts := make([]string, 0, len(list))
	for i, v := range list {
		at := "/input/" + strconv.Itoa(i)
		switch v := v.(type) {
		case string:
			u.text(at, v)
			texts = append(texts, v)
		case float64, []any:
			u.unsupported("/input", "must be text; token ids are not supported")
			return nil
		default:
			u.invalid(at, "must be a string")
		}
	}
	return texts
}

func (u *chatFaults) text(at, text string) {
	switch {
	case strings.TrimSpace(text) == "":
		u.invalid(at, "must not be empty")
	case len(text) > maxInput:
		u.invalid(at, "must have at most %d bytes", maxInput)
	}
}

// embeddings answers POST /v1/embeddings.
func (s *Server) embeddings(w http.ResponseWriter, r *http.Request, text []byte) error {
	q, err := decodeOpenAI[embeddingRequest](text)
	if err != nil {
		return err
	}
	texts, inBase64, err := q.asked()
	if err == nil {
		err = s.notTooLarge(text)
	}
	if err != nil {
		return err
	}
	if q.Dimensions != nil {
		about, err := s.backend.About(r.Context(), Nothing{})
		if err != nil {
			return err
		}
		if n := about.Embedder.Dimensions; n != *q.Dimensions {
			var u chatFaults
			u.unsupported("/dimensions", "must be %d or left out", n)
			return u.err()
		}
	}
	got, err := s.backend.Embed(r.Context(), texts)
	if err != nil {
		return err
	}
	if len(got.Vectors) != len(texts) {
		return fault.New(fault.Internal, "api.embeddings", "the embedder returned %d vectors for %d texts", len(got.Vectors), len(texts))
	}
	list := embeddingList{Object: "list", Model: got.Model, Data: make([]embeddingItem, len(texts))}
	for i, v := range got.Vectors {
		list.Data[i] = embeddingItem{Object: "embedding", Index: i, Embedding: v}
		if inBase64 {
			list.Data[i].Embedding = base64Vector(v)
		}
	}
	return reply(w, http.StatusOK, list)
}

// base64Vector encodes a vector as base64 of little-endian 32-bit floats.
func base64Vector(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return base64.StdEncoding.EncodeToString(b)
}
