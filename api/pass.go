package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

// Upstream is the server of the language model. What percached does not serve of OpenAI's
// interface is passed on to it. Nothing of a passed request is stored.
type Upstream struct {
	// Model is the language model's name on the server.
	Model func() string
	// Has says whether the server has a model.
	Has func(ctx context.Context, model string) bool
	// Send sends a request with the server's own key. The caller closes the response's body.
	Send func(ctx context.Context, p Passed) (*http.Response, error)
}

// Passed is a request that is passed on.
type Passed struct {
	Method, Path, Query string
	Type, Accept        string // the headers that are passed on
	Body                io.Reader
	Length              int64 // of the body; negative: unknown
}

// answerHeader says how a response of OpenAI's interface came about.
const answerHeader = "Percached-Answer"

const (
	answerServed   = "served"   // a stored answer
	answerComputed = "computed" // by the language model
	answerPassed   = "passed"   // by the server of the language model, without percached's documents
)

// maxPassed bounds the body of a passed request: images come in it.
const maxPassed = 64 << 20

// passOp names a passed request whose path percached does not serve, in the request log and the
// audit log. It is no operation of openapi.yaml.
const passOp = "pass"

// passClasses are the parts of OpenAI's interface that a path names after /v1/; the audit log
// names no other, because a path may be any text. A request with POST to one that is true, or to
// another one, has the model generate.
var passClasses = map[string]bool{
	"audio": true, "batches": true, "chat": true, "completions": true, "images": true, "messages": true, "responses": true, "videos": true,
	"embeddings": false, "files": false, "models": false, "moderations": false, "rerank": false, "tokenize": false, "uploads": false,
}

// passClass is the class of a path.
func passClass(path string) string {
	part, _, _ := strings.Cut(strings.TrimPrefix(path, "/v1/"), "/")
	if _, known := passClasses[part]; known {
		return part
	}
	return "other"
}

// generates says whether a passed request has the model generate.
func generates(r *http.Request) bool {
	model, known := passClasses[passClass(r.URL.Path)]
	return r.Method == http.MethodPost && (model || !known)
}

// passNeed is the grant that a passed request needs: it costs what the owner's key costs.
func passNeed(method string) access {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
		return everywhere(RoleWrite)
	}
	return everywhere(RoleAdmin)
}

// isPassable says whether a path without a route may be the server's: percached's own parts of
// /v1/ are not.
func (s *Server) isPassable(path string) bool {
	rest, ok := strings.CutPrefix(path, "/v1/")
	if s.Upstream == nil || !ok || rest == "" {
		return false
	}
	part, _, _ := strings.Cut(rest, "/")
	for _, rt := range s.routes() {
		own, _, _ := strings.Cut(strings.TrimPrefix(rt.path, "/v1/"), "/")
		if own == part && !forOpenAI(rt.path) {
			return false
		}
	}
	return true
}

// passPath passes on a request whose path percached does not serve.
func (s *Server) passPath(w http.ResponseWriter, r *http.Request) error {
	return s.serve(route{op: passOp, method: "*", path: r.URL.Path, need: passNeed(r.Method), serve: func(w http.ResponseWriter, r *http.Request) error {
		setBodyLimit(r, maxPassed)
		return s.pass(w, r, r.Body, r.ContentLength)
	}}, w, r)
}

// orPass serves a request of OpenAI's interface, and passes it on if percached does not serve
// it: the model is none of the spaces, but one of the server's; or it asks for what percached
// does not do, such as to look at an image.
func (s *Server) orPass(own func(w http.ResponseWriter, r *http.Request, text []byte) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := requireType(r, jsonType); err != nil {
			return err
		}
		mayPass := s.Upstream != nil && grantOf(r.Context()).permits(passNeed(r.Method), "")
		if mayPass {
			setBodyLimit(r, maxPassed)
		}
		text, err := readText(r)
		if err != nil {
			return err
		}
		err = own(w, r, text)
		if err == nil || !mayPass || begun(w) {
			return err
		}
		text = s.passable(r.Context(), text, err)
		if text == nil {
			return err
		}
		return s.pass(w, r, strings.NewReader(string(text)), int64(len(text)))
	}
}

// begun says whether a part of the response was sent.
func begun(w http.ResponseWriter) bool {
	own, ok := w.(*writer)
	return ok && own.status != 0
}

// passable returns the body with which a refused request is passed on, or nil if it is not. The
// name of a space becomes that of the language model.
func (s *Server) passable(ctx context.Context, text []byte, refused error) []byte {
	name, _, _ := problemFor(refused)
	if name != problemUnsupportedParameter && name != problemUnsupported && name != problemModelNotFound && name != problemTooLarge {
		return nil
	}
	var body map[string]json.RawMessage
	var model string
	if json.Unmarshal(text, &body) != nil || json.Unmarshal(body["model"], &model) != nil {
		return nil
	}
	switch {
	case s.Upstream.Has(ctx, model):
		exchangeOf(ctx).space = "" // the model is no space
		return text
	case name == problemModelNotFound || name == problemTooLarge:
		return nil
	case name == problemUnsupported && !asksForm(body): // a fault of the settings, that a server must not hide
		return nil
	}
	body["model"], _ = json.Marshal(s.Upstream.Model())
	text, err := json.Marshal(body)
	if err != nil {
		return nil
	}
	return text
}

// asksForm says whether a request asks for a form of its answer, which not each engine can hold
// answers to.
func asksForm(body map[string]json.RawMessage) bool {
	return slices.ContainsFunc([]string{"response_format", "text", "tools"}, func(field string) bool {
		raw := string(body[field])
		return raw != "" && raw != "null"
	})
}

// decodeOpenAI reads the JSON of an OpenAI request.
func decodeOpenAI[T any](text []byte) (T, error) {
	var v T
	return v, unmarshal(text, &v, false)
}

// notTooLarge refuses a body that only a passed request may have.
func (s *Server) notTooLarge(text []byte) error {
	if int64(len(text)) > s.MaxBody {
		return refuse(problemTooLarge, "the body is longer than the limit of %d bytes", s.MaxBody)
	}
	return nil
}

// pass sends a request to the server, and its response to the client as it comes.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, body io.Reader, length int64) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || length == 0 {
		body, length = nil, 0
	}
	resp, err := s.Upstream.Send(r.Context(), Passed{
		Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Type: r.Header.Get("Content-Type"), Accept: r.Header.Get("Accept"), Body: body, Length: length,
	})
	if err != nil {
		if r.Context().Err() != nil {
			return errClientGone
		}
		if p, ok := errors.AsType[*problemError](err); ok { // of the client's body
			return p
		}
		return fault.Wrap("api.pass", err)
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	h := w.Header()
	for _, name := range []string{"Content-Type", "Content-Length", "Content-Disposition", "Retry-After"} {
		if v := resp.Header.Get(name); v != "" {
			h.Set(name, v)
		}
	}
	h.Set(answerHeader, answerPassed)
	w.WriteHeader(resp.StatusCode)
	return s.copyPassed(w, resp.Body)
}

// copyPassed sends a body piece by piece: a stream must not wait for more.
func (s *Server) copyPassed(w http.ResponseWriter, from io.Reader) error {
	out := http.NewResponseController(w)
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			if _, err := w.Write(piece[:n]); err != nil {
				return errClientGone
			}
			_ = out.Flush()
		}
		if err == io.EOF {
			return nil
		}
		if err != nil { // the client must see that it is not the whole response
			return fault.New(fault.Unavailable, "api.pass", "the server's response broke off")
		}
	}
}

// setAnswerHeader says how an answer came about. It has no effect after the header is sent.
func setAnswerHeader(w http.ResponseWriter, a Answer) {
	how := answerComputed
	if a.Outcome == "answer_hit" {
		how = answerServed
	}
	w.Header().Set(answerHeader, how)
}
