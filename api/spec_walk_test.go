package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// sampled is a complete request of an operation.
type sampled struct {
	what, body string
	headers    []string
	status     int // of the response if all is well
}

// requests returns requests of an operation: one for each media type that it reads and each
// that it returns.
func (s sampler) requests(t testing.TB, path, method string, op *openapi3.Operation) (all []sampled) {
	at := strings.NewReplacer(
		"{space}", "mail", "{model}", "mail", "{upload}", "u1", "{job}", "j1", "{file}", fileOfPage(),
		"{document}", "0123456789abcdef0123456789abcdef", "{entry}", "0123456789abcdef0123456789abcdef",
	).Replace(path)
	if q := op.Parameters.GetByInAndName("query", "q"); q != nil {
		at += "?q=what"
	}
	plain := sampled{what: method + " " + at}
	for _, code := range op.Responses.Keys() {
		if n := 0; strings.HasPrefix(code, "2") {
			fmt.Sscan(code, &n)
			plain.status = max(plain.status, n) // of an upload: before all is in
		}
	}
	if op.OperationID == "exportSpace" {
		plain.status = http.StatusOK // 204: the client has the documents
	}
	if op.RequestBody == nil {
		return []sampled{plain}
	}
	for kind, content := range op.RequestBody.Value.Content {
		one := plain
		one.headers = []string{"Content-Type: " + kind}
		switch schema := content.Schema.Value; {
		case strings.HasSuffix(kind, "/json"), strings.HasSuffix(kind, "+json"):
			one.body = s.body(t, schema)
		case kind == linesType:
			one.body = s.body(t, s.doc.Components.Schemas["ExportedEntry"].Value) + "\n"
		case kind == archiveType, kind == encryptedType && (op.OperationID == "restore" || op.OperationID == "importSpace"):
			one.body = "an archive"
		case kind == "multipart/form-data":
			one.headers = []string{"Content-Type: multipart/form-data; boundary=x"}
			one.body = "--x\r\nContent-Disposition: form-data; name=file; filename=a.txt\r\n\r\ntext\r\n--x--\r\n"
		default:
			one.body, one.headers = "text", []string{"Content-Type: text/plain", "Content-Disposition: attachment; filename=a.txt"}
		}
		all = append(all, one)
		switch op.OperationID {
		case "ask":
			one.headers = append(one.headers, "Accept: text/event-stream")
		case "createChatCompletion", "createResponse":
			one.body = strings.Replace(one.body, `"stream":true`, `"stream":false`, 1)
		case "upload", "uploadDocuments":
			one.what, one.status = one.what+"?wait=true", http.StatusOK
		default:
			continue
		}
		all = append(all, one)
	}
	return all
}

// body returns a body with everything that its schema describes.
func (s sampler) body(t testing.TB, schema *openapi3.Schema) string {
	text, err := json.Marshal(sample(t, schema))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// each calls f with every operation except the endless event stream.
func (s sampler) each(f func(path, method string, op *openapi3.Operation)) {
	for _, path := range s.doc.Paths.InMatchingOrder() {
		for method, op := range s.doc.Paths.Value(path).Operations() {
			if op.OperationID != "events" {
				f(path, method, op)
			}
		}
	}
}

// full returns options with everything that operations need.
func full(o *Options) {
	o.Spec = percached.OpenAPI()
	o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		io.WriteString(w, "percached_up 1\n")
	})
}

// The server accepts bodies with every described field, and each operation returns every
// described field.
func TestSpecOfResponses(t *testing.T) {
	s := newSampler(t)
	c := contract{s.doc}
	srv := testServer(t, s.backend(t, false, nil), full)
	outs := map[string]bool{} // schemas of what the backend answers
	for b := range reflect.TypeFor[Backend]().NumField() {
		outs[s.schemas[reflect.TypeFor[Backend]().Field(b).Type.Out(0)]] = true
	}
	s.each(func(path, method string, op *openapi3.Operation) {
		for _, r := range s.requests(t, path, method, op) {
			t.Run(strings.Join(append([]string{op.OperationID}, r.headers...), " "), func(t *testing.T) {
				resp, body := send(t, srv, r.what, r.body, r.headers...)
				if resp.StatusCode != r.status {
					t.Fatalf("status %d, not %d: %s", resp.StatusCode, r.status, body)
				}
				if err := c.check(method, strings.TrimPrefix(r.what, method+" "), resp, body); err != nil {
					t.Fatalf("%v\n%s", err, body)
				}
				content := op.Responses.Status(resp.StatusCode).Value.Content.Get(resp.Header.Get("Content-Type"))
				if content == nil || !outs[referred(content.Schema)] || resp.Header.Get("Content-Type") != jsonType {
					return
				}
				var got any
				if err := json.Unmarshal([]byte(body), &got); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(sample(t, content.Schema.Value), got); diff != "" {
					t.Errorf("the response lacks something (-schema +response):\n%s", diff)
				}
			})
		}
	})
}

// An empty list is sent as an empty list, even if the backend returns nil.
func TestSpecOfEmptyLists(t *testing.T) {
	s := newSampler(t)
	srv := testServer(t, s.backend(t, true, nil), full)
	s.each(func(path, method string, op *openapi3.Operation) {
		for _, r := range s.requests(t, path, method, op) {
			resp, body := send(t, srv, r.what, r.body, r.headers...)
			if err := (contract{s.doc}).check(method, strings.TrimPrefix(r.what, method+" "), resp, body); err != nil {
				t.Errorf("%s: %v\n%s", op.OperationID, err, body)
			}
		}
	})
}

// Every failure is a response that openapi.yaml describes.
func TestSpecOfProblems(t *testing.T) {
	s := newSampler(t)
	c := contract{s.doc}
	check := func(t *testing.T, what string, resp *http.Response, body string, status int) {
		t.Helper()
		method, path, _ := strings.Cut(what, " ")
		if err := c.check(method, path, resp, body); err != nil {
			t.Errorf("%s: %v\n%s", what, err, body)
		}
		if resp.StatusCode != status {
			t.Errorf("%s: status %d, not %d", what, resp.StatusCode, status)
		}
	}
	for kind, status := range map[fault.Kind]int{
		fault.Invalid: 400, fault.NotFound: 404, fault.Conflict: 409, fault.Overloaded: 429,
		fault.Unavailable: 503, fault.Unsupported: 501, fault.Timeout: 504, fault.Internal: 500,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			srv := testServer(t, s.backend(t, false, fault.New(kind, "test", "something is wrong")), full)
			s.each(func(path, method string, op *openapi3.Operation) {
				switch op.OperationID {
				case "page", "pageFile", "health", "ready", "openapi", "metrics": // the backend has no part in them
					return
				}
				for _, r := range s.requests(t, path, method, op) {
					resp, body := send(t, srv, r.what, r.body, r.headers...)
					check(t, r.what, resp, body, status)
				}
			})
		})
	}
	ready := testServer(t, Backend{}, full)
	starting := testServer(t, Backend{}, full, func(o *Options) { o.Ready = func() Ready { return Ready{Stage: "loading", Progress: 0.5} } })
	s.each(func(path, method string, op *openapi3.Operation) {
		for _, r := range s.requests(t, path, method, op) {
			resp, body := send(t, ready, r.what, r.body, append(r.headers, "Origin: https://evil.example")...)
			check(t, r.what, resp, body, 403)
			resp, body = send(t, starting, r.what, r.body, r.headers...)
			switch op.OperationID {
			case "page", "pageFile", "health", "openapi":
				check(t, r.what, resp, body, 200)
				continue
			}
			check(t, r.what, resp, body, 503)
			if op.Security == nil {
				resp, body = send(t, ready, r.what, r.body, append(r.headers, "Authorization: ")...)
				check(t, r.what, resp, body, 401)
			}
		}
	})
}

// Events match openapi.yaml.
func TestSpecOfEvents(t *testing.T) {
	s := newSampler(t)
	bus := &EventBus{}
	srv := testServer(t, s.backend(t, false, nil), func(o *Options) { o.Events = bus })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+adminToken)
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil { // it listens
		t.Fatal(err)
	}
	names := words(schemaOf(t, s.doc, "EventType").Value)
	for _, name := range names {
		bus.Publish(Event{Type: name, At: time.Unix(1748847072, 0), Space: "mail", Data: map[string]any{"ms": 0.24}})
	}
	bus.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(body), "event: "); n != len(names) {
		t.Errorf("%d events: %s", n, body)
	}
	if err := (contract{s.doc}).check(http.MethodGet, "/v1/events", resp, ":"+string(body)); err != nil {
		t.Error(err)
	}
}
