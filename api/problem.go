package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// Problem is why a request was not served (RFC 9457).
type Problem struct {
	Type     string       `json:"type"` // urn:percached:problem: and a name of the table in docs/api.md
	Title    string       `json:"title"`
	Status   int          `json:"status"`
	Detail   string       `json:"detail,omitempty"`
	Instance string       `json:"instance"` // urn:percached:request: and the request's id
	Fix      string       `json:"fix"`      // what to do
	Errors   []FieldError `json:"errors,omitempty"`
	// Error says the same as OpenAI's clients expect it, on the paths that they
	// call.
	Error *OpenAIError `json:"error,omitempty"`
}

// FieldError says what is wrong with one field: a JSON pointer into the body, or
// path:NAME, query:NAME, header:NAME.
type FieldError struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// FieldErrors is an error of the kind Invalid that names what is wrong field by
// field.
type FieldErrors []FieldError

func (e FieldErrors) Error() string {
	var b strings.Builder
	for i, f := range e {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.Field + " " + f.Detail)
	}
	return b.String()
}

// OpenAIError is an error in OpenAI's form.
type OpenAIError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Code    string  `json:"code"`
	Param   *string `json:"param"`
}

// problemError is an error that names its problem itself.
type problemError struct {
	problem problem
	detail  string
	fields  []FieldError
}

func (e *problemError) Error() string {
	if len(e.fields) > 0 {
		return string(e.problem) + ": " + FieldErrors(e.fields).Error()
	}
	return string(e.problem) + ": " + e.detail
}

// refuse makes an error of a problem. The detail goes to the client: nothing of
// documents or questions may be in it.
func refuse(p problem, format string, args ...any) error {
	return &problemError{problem: p, detail: fmt.Sprintf(format, args...)}
}

// wrong makes an error of one field that has the wrong value.
func invalidField(field, format string, args ...any) error {
	return invalidFields(FieldError{field, fmt.Sprintf(format, args...)})
}

// wrongFields makes an error of fields that have wrong values.
func invalidFields(fields ...FieldError) error {
	return &problemError{problem: problemInvalid, fields: fields}
}

// problemFor finds the problem that an error is, and what the client is told.
func problemFor(err error) (problem, string, []FieldError) {
	if e, ok := errors.AsType[*problemError](err); ok {
		return e.problem, e.detail, e.fields
	}
	if e, ok := errors.AsType[FieldErrors](err); ok {
		return problemInvalid, "", e
	}
	switch fault.KindOf(err) {
	case fault.Invalid:
		return problemInvalid, publicDetail(err), nil
	case fault.NotFound:
		return problemNotFound, publicDetail(err), nil
	case fault.Conflict:
		return problemConflict, publicDetail(err), nil
	case fault.Overloaded:
		return problemOverloaded, publicDetail(err), nil
	case fault.Unavailable:
		return problemUnavailable, publicDetail(err), nil
	case fault.Unsupported:
		return problemUnsupported, publicDetail(err), nil
	case fault.Timeout:
		return problemTimeout, "", nil
	}
	return problemInternal, "", nil
}

// told is what of a fault's text is for the client: what was wrong with the
// request, and what the house itself wrote of the rest. What the system says
// names files and more, and what is internal is nobody's business; but that the
// disk is full is for whoever can make room.
func publicDetail(err error) string {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []string
		for _, e := range many.Unwrap() {
			if s := publicDetail(e); s != "" {
				all = append(all, s)
			}
		}
		return strings.Join(all, "; ")
	}
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Kind == fault.Internal {
		return ""
	}
	switch inner := e.Err.(type) {
	case *fault.Error:
		return publicDetail(inner)
	case interface{ Unwrap() error }, interface{ Unwrap() []error }:
		if e.Kind == fault.Overloaded || e.Kind == fault.Unavailable || isSystemError(inner) {
			if within, ok := errors.AsType[*fault.Error](e.Err); ok {
				return publicDetail(within)
			}
			if errors.Is(inner, syscall.ENOSPC) {
				return "the disk is full"
			}
			return ""
		}
	}
	return e.Err.Error()
}

// fromSystem says whether an error, or one that it wraps, was made by the system
// or is internal.
func isSystemError(err error) bool {
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Kind == fault.Internal {
		return true
	}
	for _, of := range []any{new(*fs.PathError), new(*os.LinkError), new(*os.SyscallError), new(syscall.Errno), new(net.Error)} {
		if errors.As(err, of) {
			return true
		}
	}
	return false
}

// problemOf is the body that tells a client of an error.
func (x *exchange) problemOf(err error) Problem {
	name, detail, fields := problemFor(err)
	row := problems[name]
	p := Problem{
		Type: "urn:percached:problem:" + string(name), Title: row.title, Status: row.status, Detail: detail,
		Instance: "urn:percached:request:" + x.id, Fix: row.fix, Errors: fields,
	}
	if forOpenAI(x.path) {
		p.Error = p.openAI(name)
	}
	return p
}

// openAI says a problem as OpenAI's clients expect it.
func (p Problem) openAI(name problem) *OpenAIError {
	e := &OpenAIError{Message: p.Title, Type: "invalid_request_error", Code: string(name)}
	switch {
	case p.Status >= 500:
		e.Type = "server_error"
	case p.Status == http.StatusUnauthorized:
		e.Type = "authentication_error"
	case p.Status == http.StatusForbidden:
		e.Type = "permission_error"
	case p.Status == http.StatusTooManyRequests:
		e.Type = "rate_limit_error"
	}
	if p.Detail != "" {
		e.Message += ": " + p.Detail
	}
	if len(p.Errors) > 0 {
		e.Message += ": " + FieldErrors(p.Errors).Error()
		param := strings.TrimPrefix(p.Errors[0].Field, "/")
		e.Param = &param
	}
	return e
}

// tell answers with the problem that was noted.
func (x *exchange) writeProblem(w http.ResponseWriter, err error) {
	p := x.problemOf(err)
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Disposition", "Content-Encoding", "Location"} {
		h.Del(name) // of what would have been answered
	}
	h.Set("Content-Type", "application/problem+json")
	if after := problems[x.problem].after; after > 0 {
		h.Set("Retry-After", strconv.Itoa(int(after/time.Second)))
	}
	body, broken := json.Marshal(p)
	if broken != nil {
		body = []byte(`{}`) // strings and numbers always can be written
	}
	h.Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // a client that is gone is seen by net/http
}

// problem names a kind of problem. Names are part of the interface: they stay.
type problem string

// The problems.
const (
	problemInvalid              problem = "invalid"
	problemUnsupportedParameter problem = "unsupported_parameter"
	problemBadBody              problem = "bad_body"
	problemUnexpectedBody       problem = "unexpected_body"
	problemBadPath              problem = "bad_path"
	problemUnauthorized         problem = "unauthorized"
	problemForbidden            problem = "forbidden"
	problemBadHost              problem = "bad_host"
	problemBadOrigin            problem = "bad_origin"
	problemNotFound             problem = "not_found"
	problemModelNotFound        problem = "model_not_found"
	problemNoOperation          problem = "no_operation"
	problemMethod               problem = "method_not_allowed"
	problemNotAcceptable        problem = "not_acceptable"
	problemSlowRequest          problem = "slow_request"
	problemConflict             problem = "conflict"
	problemTooLarge             problem = "too_large"
	problemURITooLong           problem = "uri_too_long"
	problemMediaType            problem = "media_type"
	problemOverloaded           problem = "overloaded"
	problemTooManyRequests      problem = "too_many_requests"
	problemTooManyStreams       problem = "too_many_streams"
	problemInternal             problem = "internal"
	problemUnsupported          problem = "unsupported"
	problemStarting             problem = "starting"
	problemUnavailable          problem = "unavailable"
	problemTimeout              problem = "timeout"
)

// problemRow is what is the same whenever a problem comes up.
type problemRow struct {
	status int
	title  string
	fix    string
	after  time.Duration // when to try again; 0: not said
}

// problems is the table of docs/api.md.
var problems = map[problem]problemRow{
	problemInvalid:              {400, "The request is not right", "Correct what detail and errors name, and send it again.", 0},
	problemUnsupportedParameter: {400, "A parameter asks for what is not done here", "Leave out what errors names, or ask for what is done.", 0},
	problemBadBody:              {400, "The body cannot be read", "Send a body as openapi.yaml describes it; JSON is one value in UTF-8.", 0},
	problemUnexpectedBody:       {400, "This operation takes no body", "Send the request without a body.", 0},
	problemBadPath:              {400, "The path cannot be read", "Write names in the path as percent-encoded UTF-8, without slashes and control characters.", 0},
	problemUnauthorized:         {401, "A token is needed", "Send Authorization: Bearer and a token; percached token show prints the main one.", 0},
	problemForbidden:            {403, "The token does not allow this", "Use a token whose space and role allow it; percached token create makes one.", 0},
	problemBadHost:              {403, "The Host header names another host", "Call percached by localhost or a loopback address, or add the name to the setting hosts.", 0},
	problemBadOrigin:            {403, "Pages of this origin may not call", "Add the origin to the setting origins if its pages may call percached.", 0},
	problemNotFound:             {404, "There is no such thing", "List what is there, and use a name from the list.", 0},
	problemModelNotFound:        {404, "There is no such model", "Name a space as the model; GET /v1/models lists those that there are.", 0},
	problemNoOperation:          {404, "There is nothing at this path", "See /openapi.yaml for the paths that there are.", 0},
	problemMethod:               {405, "The path does not know this method", "Use one of the methods in the Allow header.", 0},
	problemNotAcceptable:        {406, "The answer cannot have the form that is accepted", "Accept application/json, or text/event-stream where openapi.yaml names it.", 0},
	problemSlowRequest:          {408, "The body came too slowly", "Send the body without long pauses.", 0},
	problemConflict:             {409, "It clashes with what is there", "Look at what is there, and change the request or what is there.", 0},
	problemTooLarge:             {413, "The body is too large", "Send less at once, or raise the limit in the settings.", 0},
	problemURITooLong:           {414, "The path and query are too long", "Shorten them.", 0},
	problemMediaType:            {415, "The body has a type that is not read here", "Set Content-Type to the type that openapi.yaml names.", 0},
	problemOverloaded:           {429, "There is too much to do", "Wait for as long as Retry-After says, and try again.", time.Second},
	problemTooManyRequests:      {429, "Too many requests are being served", "Wait for as long as Retry-After says, and try again.", time.Second},
	problemTooManyStreams:       {429, "Too many streams of events are open", "Close one, or try again later.", 5 * time.Second},
	problemInternal:             {500, "Something broke inside", "Look for the request's id in percached's log, and report it.", 0},
	problemUnsupported:          {501, "That is not possible here", "See detail; percached doctor tells what this machine and its models can do.", 0},
	problemStarting:             {503, "percached is not ready", "Wait until /readyz answers 200.", 5 * time.Second},
	problemUnavailable:          {503, "A part does not work now", "Try again later; percached's log says what is wrong.", 5 * time.Second},
	problemTimeout:              {504, "It took too long", "Try again, or raise the limit in the settings.", 0},
}
