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

// maxBoundary is the greatest length of a multipart boundary (RFC 2046).
const maxBoundary = 70

const formType = "multipart/form-data"

// uploadParams are the parameters of an upload besides its body.
type uploadParams struct {
	InSpace
	Wait bool `query:"wait"` // wait until the upload is complete
	// Again adds documents that the user deleted before.
	Again bool `query:"again"`
}

// namedUpload are the parameters of an upload that may be one file.
type namedUpload struct {
	uploadParams
	Name string `query:"name"` // file name, if the body is one file
}

// fileSink receives one file.
type fileSink func(name string, body io.Reader) error

// takeAll passes a file on and reads it to its end, even if the sink stopped early: a fault of
// the body may be there.
func (take fileSink) takeAll(name string, body io.Reader) error {
	if err := take(name, body); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, body)
	return err
}

// fileSource passes the files of a body on, one after the other.
type fileSource func(fileSink) error

// upload answers POST /v1/spaces/{space}/documents. The body is a JSON object with documents, a
// multipart form with files, or one file. The backend reads it while it arrives; no body is
// held in memory. If the body turns out to be wrong, the backend keeps nothing of it.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) error {
	p, err := params[namedUpload](r)
	if err != nil {
		return err
	}
	return s.receive(w, r, p.uploadParams, p.Name)
}

// uploadDocuments answers POST /v1/spaces/{space}/uploads. The body is a multipart form.
func (s *Server) uploadDocuments(w http.ResponseWriter, r *http.Request) error {
	p, err := params[uploadParams](r)
	if err != nil {
		return err
	}
	if kind, _, err := mediaType(r); err != nil || kind != formType {
		return refuse(problemMediaType, "send files as "+formType+"; /v1/spaces/{space}/documents also takes JSON and single files")
	}
	return s.receive(w, r, p, "")
}

// receive passes the files of a body to the backend.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, p uploadParams, name string) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	each, err := s.filesOf(r, name)
	if err != nil {
		return err
	}
	setBodyLimit(r, s.MaxUpload)
	var broken error // the fault of the body; it is more precise than the backend's error
	x := exchangeOf(r.Context())
	status, err := s.backend.Upload(r.Context(), Upload{
		Space: p.Space, Key: key, Wait: p.Wait, Again: p.Again,
		Accepted: func(u UploadStatus) { x.accepted = &u },
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

// idempotencyKey returns the Idempotency-Key header: 1 to 128 visible ASCII characters.
func idempotencyKey(r *http.Request) (string, error) {
	keys := r.Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return "", nil
	}
	visible := func(r rune) bool { return '!' <= r && r <= '~' }
	if key := keys[0]; len(keys) == 1 && key != "" && len(key) <= 128 && strings.TrimFunc(key, visible) == "" {
		return key, nil
	}
	return "", invalidField("header:Idempotency-Key", "must be one header of 1 to 128 visible ASCII characters")
}

// filesOf chooses how to read the files of a body. It refuses a wrong header before anything is
// read.
func (s *Server) filesOf(r *http.Request, name string) (fileSource, error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, refuse(problemMediaType, "Content-Encoding is not supported; send compressed files as they are")
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
		most := documentBodies * min(s.MaxBody, math.MaxInt64/(2*documentBodies)) // avoid overflow
		return withoutName(name, func(take fileSink) error {
			return jsonDocuments(r.Body, most, take)
		})
	case kind == formType:
		boundary := params["boundary"]
		if boundary == "" || len(boundary) > maxBoundary {
			return nil, invalidField("header:Content-Type", "must contain a boundary of 1 to %d characters", maxBoundary)
		}
		return withoutName(name, func(take fileSink) error { return files(r.Body, boundary, take) })
	case strings.HasPrefix(kind, "multipart/"):
		return nil, refuse(problemMediaType, "the only supported multipart type is "+formType)
	}
	charset, known := charsetOf(kind, params)
	if !known {
		return nil, refuse(problemMediaType, "the charset of the body is unknown")
	}
	name, err = bodyName(r, name)
	return func(take fileSink) error { return wholeBody(name, r.Body, charset, take) }, err
}

// mediaType returns the body's media type, or "" if the client sent none.
func mediaType(r *http.Request) (kind string, params map[string]string, err error) {
	switch kinds := r.Header.Values("Content-Type"); len(kinds) {
	case 0:
		return "", nil, nil
	case 1:
		if kind, params, err = mime.ParseMediaType(kinds[0]); err == nil {
			return kind, params, nil
		}
	}
	return "", nil, refuse(problemMediaType, "send exactly one valid Content-Type")
}

// withoutName refuses a file name for a body that is not one file.
func withoutName(name string, each fileSource) (fileSource, error) {
	if name != "" {
		return nil, invalidField("query:name", "must be left out: only a body that is one file has a name")
	}
	return each, nil
}

// bodyName returns the name of a body that is one file: from the query, or from
// Content-Disposition.
func bodyName(r *http.Request, name string) (string, error) {
	field := "query:name"
	if header := r.Header.Get("Content-Disposition"); name == "" && header != "" {
		field = "header:Content-Disposition"
		var ok bool
		if name, ok = dispositionName(header); !ok {
			return "", invalidField(field, "has invalid syntax")
		}
	}
	name, fault := fileName(name)
	if fault != "" {
		return "", invalidField(field, "%s", fault)
	}
	return name, nil
}

// wholeBody passes on a body that is one file.
func wholeBody(name string, from io.Reader, charset encoding.Encoding, take fileSink) error {
	m := &limitedReader{in: from}
	var first [1]byte
	switch _, err := io.ReadFull(m, first[:]); {
	case err == io.EOF:
		return refuse(problemBadBody, "the body is empty")
	case err != nil:
		return err
	}
	err := take.takeAll(name, inUTF8(io.MultiReader(bytes.NewReader(first[:]), m), charset))
	if m.err != nil {
		return m.err
	}
	return err
}
