package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// contract compares responses with openapi.yaml.
type contract struct{ doc *openapi3.T }

// check returns how a response differs from openapi.yaml: status, headers, media type or body.
// Unknown fields are a difference.
func (c contract) check(method, path string, resp *http.Response, body string) error {
	route := c.route(method, path)
	if route == nil {
		return fmt.Errorf("openapi.yaml has no %s %s", method, path)
	}
	if resp.StatusCode < 400 && route.Operation.Responses.Status(resp.StatusCode) == nil {
		return fmt.Errorf("openapi.yaml does not know that this answers %d", resp.StatusCode)
	}
	content, schema := c.content(route.Operation, resp)
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	byHand := kind == eventsType || kind == linesType || kind == "application/openmetrics-text" ||
		route.Operation.OperationID == "page" || route.Operation.OperationID == "pageFile"
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: httptest.NewRequest(method, path, nil), Route: route},
		Status:                 resp.StatusCode, Header: resp.Header, Body: io.NopCloser(strings.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: byHand},
	}
	if err := openapi3filter.ValidateResponse(context.Background(), input); err != nil {
		return err
	}
	switch {
	case content == nil && (body != "" || kind != ""):
		return fmt.Errorf("openapi.yaml knows no body of type %q here", kind)
	case content == nil:
		return nil
	case kind == eventsType:
		return c.events(content, body)
	case kind == linesType:
		for line := range strings.Lines(body) {
			if err := c.value(content.Extensions["x-line"], line); err != nil {
				return err
			}
		}
		return nil
	case strings.HasSuffix(kind, "json"):
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			return err
		}
		return strange(schema, v, "")
	}
	return nil
}

// content returns the description of a response's body.
func (c contract) content(op *openapi3.Operation, resp *http.Response) (*openapi3.MediaType, *openapi3.Schema) {
	r := op.Responses.Status(resp.StatusCode)
	if r == nil {
		r = op.Responses.Default()
	}
	content := r.Value.Content.Get(resp.Header.Get("Content-Type"))
	if content == nil {
		return nil, nil
	}
	return content, content.Schema.Value
}

// route finds the operation of a request. If two paths match, it uses the one with fewer
// parameters.
func (c contract) route(method, path string) *routers.Route {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	var best *routers.Route
	for pattern, item := range c.doc.Paths.Map() {
		op := item.GetOperation(method)
		if op == nil || !matches(strings.Split(pattern, "/"), parts) {
			continue
		}
		if best == nil || strings.Count(pattern, "{") < strings.Count(best.Path, "{") {
			best = &routers.Route{Spec: c.doc, Path: pattern, PathItem: item, Method: method, Operation: op}
		}
	}
	return best
}

func matches(pattern, parts []string) bool {
	for i, p := range pattern {
		if len(parts) != len(pattern) || p != parts[i] && !strings.HasPrefix(p, "{") {
			return false
		}
	}
	return true
}

// events checks a stream of server-sent events: x-events names the schema of each. OpenAI's
// events have no name and end with [DONE].
func (c contract) events(content *openapi3.MediaType, stream string) error {
	known := content.Extensions["x-events"].(map[string]any)
	for block := range strings.SplitSeq(strings.TrimRight(stream, "\n"), "\n\n") {
		name, data := "message", ""
		for line := range strings.SplitSeq(block, "\n") {
			if strings.HasPrefix(line, ":") {
				continue
			}
			field, value, _ := strings.Cut(line, ": ")
			switch field {
			case "event":
				name = value
			case "data":
				data = value
			case "id":
			default:
				return fmt.Errorf("an event has the line %q", line)
			}
		}
		if data == "" || name == "message" && data == "[DONE]" {
			continue
		}
		if known[name] == nil {
			return fmt.Errorf("openapi.yaml has no event %q here", name)
		}
		if err := c.value(known[name], data); err != nil {
			return fmt.Errorf("event %s: %w", name, err)
		}
	}
	return nil
}

// value checks a JSON value against a schema.
func (c contract) value(pointer any, text string) error {
	ref := c.doc.Components.Schemas[strings.TrimPrefix(pointer.(string), "#/components/schemas/")]
	if ref == nil {
		return fmt.Errorf("openapi.yaml has no %v", pointer)
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	if err := ref.Value.VisitJSON(v, openapi3.VisitAsResponse()); err != nil {
		return err
	}
	return strange(ref.Value, v, "")
}

// strange finds fields that a schema does not name. Clients ignore them, but the document must
// describe what the server sends.
func strange(s *openapi3.Schema, v any, at string) error {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			if s.Items != nil {
				if err := strange(s.Items.Value, e, fmt.Sprintf("%s/%d", at, i)); err != nil {
					return err
				}
			}
		}
	case map[string]any:
		properties, _ := members(s)
		other := s.AdditionalProperties
		for name, e := range v {
			next := other.Schema
			if p := properties[name]; p != nil {
				next = p
			} else if next == nil && (other.Has == nil || !*other.Has) {
				return errors.New(at + "/" + name + " is not described")
			}
			if next != nil {
				if err := strange(next.Value, e, at+"/"+name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// The contract detects each kind of difference.
func TestContractCanFail(t *testing.T) {
	c := contract{specification(t)}
	good := http.Header{"Content-Type": {jsonType}, "X-Request-Id": {"r1"}}
	stream := http.Header{"Content-Type": {eventsType}, "X-Request-Id": {"r1"}}
	problem := http.Header{"Content-Type": {"application/problem+json"}, "X-Request-Id": {"r1"}}
	const ask, history = "/v1/spaces/mail/ask", "/v1/spaces/mail/history"
	whole := `{"type":"urn:percached:problem:overloaded","title":"t","status":429,"detail":"f","instance":"i","fix":"f"}`
	tests := []struct {
		name, method, path string
		status             int
		header             http.Header
		body               string
		right              bool
	}{
		{"right", "DELETE", history, 200, good, `{"cleaned_up":false,"removed":1}`, true},
		{"an unknown path", "DELETE", "/v1/nothing", 200, good, `{"cleaned_up":false,"removed":1}`, false},
		{"another status", "DELETE", history, 201, good, `{"cleaned_up":false,"removed":1}`, false},
		{"another type", "DELETE", history, 200, http.Header{"Content-Type": {"text/plain"}, "X-Request-Id": {"r1"}}, `{"cleaned_up":false,"removed":1}`, false},
		{"no request id", "DELETE", history, 200, http.Header{"Content-Type": {jsonType}}, `{"cleaned_up":false,"removed":1}`, false},
		{"a member of another kind", "DELETE", history, 200, good, `{"cleaned_up":false,"removed":"1"}`, false},
		{"no member", "DELETE", history, 200, good, `{}`, false},
		{"a member that is not described", "DELETE", history, 200, good, `{"cleaned_up":false,"removed":1,"more":1}`, false},
		{"null for a list", "GET", history, 200, good, `{"questions":null}`, false},
		{"a body where there is none", "DELETE", "/v1/spaces/mail/entries/7c41f77b7271eec463ee71fec25d9342", 204, good, `{}`, false},
		{"a stream", "POST", ask, 200, stream, ":\n\nevent: stage\ndata: {\"name\":\"n\",\"ms\":1}\n\n", true},
		{"an unknown event", "POST", ask, 200, stream, "event: x\ndata: {}\n\n", false},
		{"an event with other data", "POST", ask, 200, stream, "event: stage\ndata: {\"name\":\"n\"}\n\n", false},
		{"a problem without Retry-After", "POST", ask, 429, problem, whole, false},
		{"a problem of no known type", "POST", ask, 418, problem, strings.Replace(whole, "overloaded", "teapot", 1), false},
		{"any other problem", "POST", ask, 418, problem, whole, true},
	}
	for _, tt := range tests {
		resp := &http.Response{StatusCode: tt.status, Header: tt.header, Body: io.NopCloser(bytes.NewReader(nil))}
		if err := c.check(tt.method, tt.path, resp, tt.body); (err == nil) != tt.right {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
