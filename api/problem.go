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
func wrong(field, format string, args ...any) error {
	return wrongFields(FieldError{field, fmt.Sprintf(format, args...)})
}

// wrongFields makes an error of fields that have wrong values.
func wrongFields(fields ...FieldError) error {
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
		return problemInvalid, told(err), nil
	case fault.NotFound:
		return problemNotFound, told(err), nil
	case fault.Conflict:
		return problemConflict, told(err), nil
	case fault.Overloaded:
		return problemOverloaded, told(err), nil
	case fault.Unavailable:
		return problemUnavailable, told(err), nil
	case fault.Unsupported:
		return problemUnsupported, told(err), nil
	case fault.Timeout:
		return problemTimeout, "", nil
	}
	return problemInternal, "", nil
}

// told is what of a fault's text is for the client: what was wrong with the
// request, and what the house itself wrote of the rest. What the system says
// names files and more, and what is internal is nobody's business; but that the
// disk is full is for whoever can make room.
func told(err error) string {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var all []string
		for _, e := range many.Unwrap() {
			if s := told(e); s != "" {
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
		return told(inner)
	case interface{ Unwrap() error }, interface{ Unwrap() []error }:
		if e.Kind == fault.Overloaded || e.Kind == fault.Unavailable || fromSystem(inner) {
			if within, ok := errors.AsType[*fault.Error](e.Err); ok {
				return told(within)
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
func fromSystem(err error) bool {
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
func (x *exchange) tell(w http.ResponseWriter, err error) {
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
