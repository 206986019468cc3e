package api

import (
	"bytes"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/text/encoding"
)

// maxBoundary is how long the boundary of a multipart body may be (RFC 2046).
const maxBoundary = 70

// uploadParams are what an upload says beside its body.
type uploadParams struct {
	InSpace
	Wait bool   `query:"wait"` // until all is in
	Name string `query:"name"` // of a file that is the whole body
}

// takeFile takes one file in.
type fileSink func(name string, body io.Reader) error

// all is take for files that are read to their end, wanted or not: what is wrong
// with a body may stand there.
func (take fileSink) takeAll(name string, body io.Reader) error {
	if err := take(name, body); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, body)
	return err
}

// eachFile hands on the files of a body, one after the other.
type fileSource func(fileSink) error

// upload answers POST /v1/spaces/{space}/documents. A body is a JSON object with
// documents, a multipart form with files, or one file as it is. None is held in
// memory: the backend reads it as it comes, and keeps nothing of one that turns
// out to be wrong.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) error {
	p, err := params[uploadParams](r)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	each, err := s.filesOf(r, p.Name)
	if err != nil {
		return err
	}
	setBodyLimit(r, s.MaxUpload)
	var broken error // of the body: it says more than what the backend makes of it
	status, err := s.backend.Upload(r.Context(), Upload{
		Space: p.Space, Key: key, Wait: p.Wait,
		Each: func(take func(name string, body io.Reader) error) error {
			broken = each(take)
			return broken
		},
	})
	switch {
	case broken != nil:
		return broken
	case err != nil:
		return err
	case p.Wait:
		return reply(w, http.StatusOK, status)
	}
	w.Header().Set("Location", "/v1/spaces/"+url.PathEscape(p.Space)+"/uploads/"+url.PathEscape(status.ID))
	return reply(w, http.StatusAccepted, status)
}

// idempotencyKey is the Idempotency-Key header: 1 to 128 visible characters of
// ASCII.
func idempotencyKey(r *http.Request) (string, error) {
	keys := r.Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return "", nil
	}
	visible := func(r rune) bool { return '!' <= r && r <= '~' }
	if key := keys[0]; len(keys) == 1 && key != "" && len(key) <= 128 && strings.TrimFunc(key, visible) == "" {
		return key, nil
	}
	return "", invalidField("header:Idempotency-Key", "must be 1 to 128 visible characters of ASCII, and stand there once")
}

// filesOf says how the files of a body are read. What its headers alone show to
// be wrong is told before anything is read.
func (s *Server) filesOf(r *http.Request, name string) (fileSource, error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, refuse(problemMediaType, "the body must not be compressed as a whole: Content-Encoding is not read; a file may be")
	}
	kind, params, err := mediaType(r)
	if err != nil {
		return nil, err
	}
	switch {
	case kind == jsonType:
		if err := requireType(r, jsonType); err != nil {
			return nil, err
		}
		most := documentBodies * min(s.MaxBody, math.MaxInt64/(2*documentBodies)) // who sets no bound sets the largest
		return withoutName(name, func(take fileSink) error {
			return jsonDocuments(r.Body, most, take)
		})
	case kind == "multipart/form-data":
		boundary := params["boundary"]
		if boundary == "" || len(boundary) > maxBoundary {
			return nil, invalidField("header:Content-Type", "must name a boundary of 1 to %d characters", maxBoundary)
		}
		return withoutName(name, func(take fileSink) error { return files(r.Body, boundary, take) })
	case strings.HasPrefix(kind, "multipart/"):
		return nil, refuse(problemMediaType, "of the multipart types, only multipart/form-data is read")
	}
	charset, known := charsetOf(kind, params)
	if !known {
		return nil, refuse(problemMediaType, "the charset of the body is not known")
	}
	name, err = bodyName(r, name)
	return func(take fileSink) error { return wholeBody(name, r.Body, charset, take) }, err
}

// mediaType is the type of a body; empty if the client does not say.
func mediaType(r *http.Request) (kind string, params map[string]string, err error) {
	switch kinds := r.Header.Values("Content-Type"); len(kinds) {
	case 0:
		return "", nil, nil
	case 1:
		if kind, params, err = mime.ParseMediaType(kinds[0]); err == nil {
			return kind, params, nil
		}
	}
	return "", nil, refuse(problemMediaType, "the body wants one Content-Type that can be read")
}

// unnamed refuses a name for a body that is not one file.
func withoutName(name string, each fileSource) (fileSource, error) {
	if name != "" {
		return nil, invalidField("query:name", "must be left out: it names a file that is the whole body")
	}
	return each, nil
}

// bodyName is the name of a file that is the whole body: from the query, else from
// the Content-Disposition.
func bodyName(r *http.Request, name string) (string, error) {
	field := "query:name"
	if header := r.Header.Get("Content-Disposition"); name == "" && header != "" {
		field = "header:Content-Disposition"
		var ok bool
		if name, ok = dispositionName(header); !ok {
			return "", invalidField(field, "cannot be read")
		}
	}
	name, fault := fileName(name)
	if fault != "" {
		return "", invalidField(field, "%s", fault)
	}
	return name, nil
}

// wholeBody hands on a body that is one file.
func wholeBody(name string, from io.Reader, charset encoding.Encoding, take fileSink) error {
	m := &limitedReader{in: from}
	var first [1]byte
	switch _, err := io.ReadFull(m, first[:]); {
	case err == io.EOF:
		return refuse(problemBadBody, "a body is needed")
	case err != nil:
		return err
	}
	err := take.takeAll(name, inUTF8(io.MultiReader(bytes.NewReader(first[:]), m), charset))
	if m.err != nil {
		return m.err
	}
	return err
}
