package api

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

const (
	maxInputs = 256      // texts of one request
	maxInput  = 4 * 8192 // bytes of a text
)

// embeddingRequest is an embedding request. There is one embedder: whatever model
// is named, it is meant, and the answer names it.
type embeddingRequest struct {
	Model      *string         `json:"model"`
	Input      json.RawMessage `json:"input"` // a string, or an array of strings
	Format     *string         `json:"encoding_format"`
	Dimensions *int            `json:"dimensions"`
}

// asked are the texts to be embedded, and how their vectors are to be written.
func (q *embeddingRequest) asked() (texts []string, inBase64 bool, err error) {
	var u unwanted
	if q.Format != nil {
		if inBase64 = *q.Format == "base64"; !inBase64 && *q.Format != "float" {
			u.no("/encoding_format", "must be float or base64")
		}
	}
	u.positive("/dimensions", q.Dimensions)
	texts = u.input(q.Input)
	return texts, inBase64, u.err()
}

// input reads one text or many.
func (u *unwanted) input(raw json.RawMessage) []string {
	var one *string
	if len(raw) > 0 && json.Unmarshal(raw, &one) == nil && one != nil {
		u.text("/input", *one)
		return []string{*one}
	}
	var list []any
	switch err := json.Unmarshal(raw, &list); {
	case err != nil || list == nil:
		u.no("/input", "must be a string or an array of strings")
	case len(list) == 0 || len(list) > maxInputs:
		u.no("/input", "must hold 1 to %d texts", maxInputs)
	}
	texts := make([]string, 0, len(list))
	for i, v := range list {
		at := "/input/" + strconv.Itoa(i)
		switch v := v.(type) {
		case string:
			u.text(at, v)
			texts = append(texts, v)
		case float64, []any:
			u.refuse("/input", "must be text: tokens are not taken")
			return nil
		default:
			u.no(at, "must be a string")
		}
	}
	return texts
}

func (u *unwanted) text(at, text string) {
	switch {
	case strings.TrimSpace(text) == "":
		u.no(at, "must not be empty")
	case len(text) > maxInput:
		u.no(at, "must have at most %d bytes", maxInput)
	}
}

// embeddings answers POST /v1/embeddings.
func (s *Server) embeddings(w http.ResponseWriter, r *http.Request) error {
	q, err := decode[embeddingRequest](r, false)
	if err != nil {
		return err
	}
	texts, inBase64, err := q.asked()
	if err != nil {
		return err
	}
	if q.Dimensions != nil {
		about, err := s.backend.About(r.Context(), Nothing{})
		if err != nil {
			return err
		}
		if n := about.Embedder.Dimensions; n != *q.Dimensions {
			var u unwanted
			u.refuse("/dimensions", "must be %d or left out", n)
			return u.err()
		}
	}
	got, err := s.backend.Embed(r.Context(), texts)
	if err != nil {
		return err
	}
	if len(got.Vectors) != len(texts) {
		return fault.New(fault.Internal, "api.embeddings", "%d vectors of %d texts", len(got.Vectors), len(texts))
	}
	list := embeddingList{Object: "list", Model: got.Model, Data: make([]embeddingItem, len(texts))}
	for i, v := range got.Vectors {
		list.Data[i] = embeddingItem{Object: "embedding", Index: i, Embedding: v}
		if inBase64 {
			list.Data[i].Embedding = packed(v)
		}
	}
	return reply(w, http.StatusOK, list)
}

// packed is a vector as base64 of its little-endian 32-bit floats.
func packed(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return base64.StdEncoding.EncodeToString(b)
}
