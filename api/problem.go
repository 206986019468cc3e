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

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// Problem says why a request failed (RFC 9457).
type Problem struct {
	Type     string       `json:"type"` // urn:percached:problem:NAME; docs/api.md lists the names
	Title    string       `json:"title"`
	Status   int          `json:"status"`
	Detail   string       `json:"detail"`   // what is wrong, then Fix
	Instance string       `json:"instance"` // urn:percached:request:ID
	Fix      string       `json:"fix"`      // what the client can do
	Errors   []FieldError `json:"errors,omitempty"`
	// Error repeats the problem in OpenAI's format, on the paths of OpenAI's interface.
	Error *OpenAIError `json:"error,omitempty"`
}

// FieldError says what is wrong with one field. Field is a JSON pointer into the body, or
// path:NAME, query:NAME or header:NAME.
type FieldError struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// FieldErrors is an error of the kind Invalid, with one entry per field.
type FieldErrors []FieldError

func (e FieldErrors) Error() string {
	var b strings.Builder
	for i, f := range e {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(strings.TrimSpace(f.Field + " " + f.Detail))
	}
	return b.String()
}

// OpenAIError is an error in OpenAI's format.
type OpenAIError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Code    string  `json:"code"`
	Param   *string `json:"param"`
}

// problemError is an error with a fixed problem.
type problemError struct {
	problem problem
	detail  string
	fields  []FieldError
	after   time.Duration // Retry-After; 0: that of the problem
	moved   string        // the base URL of the node that has the space
}

// SpaceMoved is the error of a request for a space that was moved to the node at a base URL.
func SpaceMoved(to string) error {
	return &problemError{problem: problemMoved, detail: "the space was moved to " + to, moved: to}
}

// SpaceReadOnly is the error of a change of a space that is being moved.
func SpaceReadOnly() error {
	return refuse(problemReadOnly, "the space accepts no changes at the moment")
}

// SpaceIsCopy is the error of a change of a copy of a space of the node at a base URL.
func SpaceIsCopy(of string) error {
	return refuse(problemReadOnly, "the space is a copy; change it at %s", of)
}

func (e *problemError) Error() string {
	if len(e.fields) > 0 {
		return string(e.problem) + ": " + FieldErrors(e.fields).Error()
	}
	return string(e.problem) + ": " + e.detail
}

// refuse makes an error of a problem. The client receives the detail, so it must not contain
// text of documents or questions.
func refuse(p problem, format string, args ...any) error {
	return &problemError{problem: p, detail: fmt.Sprintf(format, args...)}
}

// invalidField makes an error of one invalid field.
func invalidField(field, format string, args ...any) error {
	return invalidFields(FieldError{field, fmt.Sprintf(format, args...)})
}

// invalidFields makes an error of invalid fields.
func invalidFields(fields ...FieldError) error {
	return &problemError{problem: problemInvalid, fields: fields}
}

// problemFor returns the problem, the detail and the fields that the client receives for an
// error.
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

// publicDetail returns the part of a fault's text that the client may see: what was wrong with
// the request, and percached's own words about other faults. Errors of the operating system
// name files, and internal errors are private. A full disk is reported, because the user can
// free space.
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
			if full, ok := errors.AsType[*durable.Full](e.Err); ok {
				return full.Error()
			}
			if errors.Is(inner, syscall.ENOSPC) {
				return "the disk is full"
			}
			return ""
		}
	}
	return fault.Sentence(e.Err)
}

// isSystemError says whether an error wraps one of the operating system, or an internal one.
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

// problemOf builds the response body for an error.
func (x *exchange) problemOf(err error) Problem {
	name, detail, fields := problemFor(err)
	row := problems[name]
	if detail == "" {
		detail = FieldErrors(fields).Error()
	}
	p := Problem{
		Type: "urn:percached:problem:" + string(name), Title: row.title, Status: row.status, Detail: row.fix,
		Instance: "urn:percached:request:" + x.id, Fix: row.fix, Errors: fields,
	}
	if detail != "" {
		p.Detail = detail + ". " + row.fix
	}
	if forOpenAI(x.path) {
		p.Error = p.openAI(name, detail)
	}
	return p
}

// openAI converts a problem to OpenAI's format.
func (p Problem) openAI(name problem, detail string) *OpenAIError {
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
	if detail != "" {
		e.Message += ": " + detail
	}
	if len(p.Errors) > 0 {
		param := strings.TrimPrefix(p.Errors[0].Field, "/")
		e.Param = &param
	}
	return e
}

// retryAfter returns how long a client should wait after an error; 0: there is no reason to wait.
func retryAfter(name problem, err error) time.Duration {
	if e, ok := errors.AsType[*problemError](err); ok && e.after > 0 {
		return e.after
	}
	return problems[name].after
}

// writeProblem sends the problem of an error.
func (x *exchange) writeProblem(w http.ResponseWriter, err error) {
	p := x.problemOf(err)
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Disposition", "Content-Encoding", "Location"} {
		h.Del(name) // headers of the response that failed
	}
	h.Set("Content-Type", "application/problem+json")
	if e, ok := errors.AsType[*problemError](err); ok && e.moved != "" {
		h.Set("Location", e.moved+x.uri)
	}
	if after := retryAfter(x.problem, err); after > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((after+time.Second-1)/time.Second), 10))
	}
	body, broken := json.Marshal(p)
	if broken != nil {
		body = []byte(`{}`) // cannot happen: all fields are strings and numbers
	}
	h.Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // net/http reports a disconnected client
}

// problem is the name of a problem type. Names are part of the interface and never change.
type problem string

// The problems.
const (
	problemMoved                problem = "moved"
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
	problemQuota                problem = "quota_exceeded"
	problemInternal             problem = "internal"
	problemUnsupported          problem = "unsupported"
	problemStarting             problem = "starting"
	problemReadOnly             problem = "read_only"
	problemUnavailable          problem = "unavailable"
	problemTimeout              problem = "timeout"
)

// problemRow holds the fixed parts of a problem.
type problemRow struct {
	status int
	title  string
	fix    string
	after  time.Duration // Retry-After; 0: none
}

// problems is the table of docs/api.md.
var problems = map[problem]problemRow{
	problemMoved:                {307, "Space moved to another node", "Send the request to the address in Location, with a token of that node.", 0},
	problemInvalid:              {400, "Invalid request", "Correct what detail and errors name, then send the request again.", 0},
	problemUnsupportedParameter: {400, "Unsupported parameter value", "Leave out the parameters named in errors, or use a supported value.", 0},
	problemBadBody:              {400, "Invalid body", "Send a body as openapi.yaml describes it. JSON must be one value in UTF-8.", 0},
	problemUnexpectedBody:       {400, "Unexpected body", "Send the request without a body.", 0},
	problemBadPath:              {400, "Invalid path", "Percent-encode names in the path as UTF-8, without slashes and control characters.", 0},
	problemUnauthorized:         {401, "Token required", "Send Authorization: Bearer TOKEN. percached token show prints the main token.", 0},
	problemForbidden:            {403, "Token not allowed", "Use a token with the required space and role. percached token create makes one.", 0},
	problemBadHost:              {403, "Unknown Host header", "Use localhost or a loopback address, or add the host name to the setting hosts.", 0},
	problemBadOrigin:            {403, "Origin not allowed", "To allow pages of this origin, add it to the setting origins.", 0},
	problemNotFound:             {404, "Not found", "List the existing items and use one of them.", 0},
	problemModelNotFound:        {404, "Model not found", "Use the name of a space as the model. GET /v1/models lists the names.", 0},
	problemNoOperation:          {404, "Path not found", "Use a path of /openapi.yaml.", 0},
	problemMethod:               {405, "Method not allowed", "Use one of the methods in the Allow header.", 0},
	problemNotAcceptable:        {406, "Not acceptable", "Accept application/json, or text/event-stream where openapi.yaml names it.", 0},
	problemSlowRequest:          {408, "Body sent too slowly", "Send the body faster and without long pauses.", 0},
	problemConflict:             {409, "Conflict with existing data", "Compare the request with the existing data, and change one of them.", 0},
	problemTooLarge:             {413, "Body too large", "Send less in one request, or raise the limit in the settings.", 0},
	problemURITooLong:           {414, "Path and query too long", "Shorten the path or the query.", 0},
	problemMediaType:            {415, "Unsupported media type", "Set Content-Type to a type that openapi.yaml names.", 0},
	problemOverloaded:           {429, "Overloaded", "Wait for the seconds in Retry-After, then try again.", time.Second},
	problemTooManyRequests:      {429, "Too many concurrent requests", "Wait for the seconds in Retry-After, then try again.", time.Second},
	problemTooManyStreams:       {429, "Too many event streams", "Close a stream, or wait for the seconds in Retry-After.", 5 * time.Second},
	problemQuota:                {429, "Quota of the token used up", "Wait for the seconds in Retry-After, or ask whoever runs percached for a higher limit.", time.Minute},
	problemInternal:             {500, "Internal error", "Find the request's id in percached's log, and report the error.", 0},
	problemUnsupported:          {501, "Not supported here", "See detail. percached doctor shows what this machine and its models support.", 0},
	problemStarting:             {503, "percached is not ready", "Wait until /readyz returns 200.", 5 * time.Second},
	problemReadOnly:             {503, "Space is read-only", "The space is probably being moved. Wait for the seconds in Retry-After, then try again.", time.Second},
	problemUnavailable:          {503, "Component unavailable", "Try again later. percached's log names the cause.", 5 * time.Second},
	problemTimeout:              {504, "Timeout", "Try again, or raise the limit in the settings.", 0},
}
