package main

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/percached/percached"
	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/child"
)

// world is a percached process, seen through its socket. All responses are validated against
// openapi.yaml.
type world struct {
	*testing.T
	*child.Process
	data   string
	args   []string
	errs   lockedBuffer
	law    *openapi3.T
	seen   map[string]bool // operations that answered well
	mu     sync.Mutex
	router routers.Router
	all    *client.ClientWithResponses // with the token for everything
}

// underTest is the percached under test: the named one, or this one.
func underTest(t *testing.T) string {
	if exe := os.Getenv("TEST_PERCACHED"); exe != "" {
		return exe
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// payTrial keeps prediction from being slowed down because a busy machine takes long to compute.
const payTrial = "24h"

// newWorld starts a daemon with a new data folder, which runs idle work only on request.
func newWorld(t *testing.T, args ...string) *world {
	t.Setenv("PERCACHED_BUDGET_COMPUTE", "0")
	t.Setenv("PERCACHED_PAY_TRIAL", payTrial)
	w := &world{T: t, data: t.TempDir(), args: append([]string{"--threads", "1"}, args...), seen: map[string]bool{}}
	var err error
	if w.law, err = openapi3.NewLoader().LoadFromData(percached.OpenAPI()); err != nil {
		t.Fatal(err)
	}
	w.law.Servers = nil
	if w.router, err = gorillamux.NewRouter(w.law); err != nil {
		t.Fatal(err)
	}
	w.start()
	t.Cleanup(func() {
		if err := w.Stop(); err != nil && !t.Failed() {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the daemon said:\n%s", w.errs.String())
		}
	})
	return w
}

// start starts the daemon on its folder.
func (w *world) start() {
	w.Helper()
	d, err := child.Start(context.Background(), underTest(w.T), w.data, &w.errs, w.args...)
	if err != nil {
		w.Fatalf("%v\n%s", err, w.errs.String())
	}
	w.Process = d
	w.all = w.with(d.Token)
}

// with returns a client with a token.
func (w *world) with(token string) *client.ClientWithResponses {
	w.Helper()
	c, err := client.NewClientWithResponses(w.URL, client.WithHTTPClient(&http.Client{Transport: w}), client.WithToken(token))
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// RoundTrip sends a request and validates the response against openapi.yaml.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	route, params, err := w.router.FindRoute(r)
	if err != nil {
		w.Errorf("%s %s is not in openapi.yaml: %v", r.Method, r.URL.Path, err)
	}
	got, failed := http.DefaultTransport.RoundTrip(r)
	if failed != nil || err != nil {
		return got, failed
	}
	kind, _, _ := mime.ParseMediaType(got.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		w.saw(route.Operation.OperationID, got.StatusCode)
		return got, nil
	}
	body, failed := io.ReadAll(got.Body)
	got.Body.Close()
	got.Body = io.NopCloser(bytes.NewReader(body))
	if failed != nil {
		return got, nil // what was cut is the caller's to see
	}
	w.saw(route.Operation.OperationID, got.StatusCode)
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 got.StatusCode, Header: got.Header,
		Options: &openapi3filter.Options{
			MultiError: true, IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
			// Lines are not one value, and files of the page are none.
			ExcludeResponseBody: kind == "application/x-ndjson" || strings.HasPrefix(route.Operation.OperationID, "page"),
		},
	}
	in.SetBodyBytes(body)
	if err := openapi3filter.ValidateResponse(r.Context(), in); err != nil {
		w.Errorf("%s %s, status %d, is not as openapi.yaml says: %v\n%s", r.Method, r.URL.Path, got.StatusCode, err, body)
	}
	if got.Header.Get("X-Request-Id") == "" {
		w.Errorf("%s %s: the response has no id", r.Method, r.URL.Path)
	}
	return got, nil
}

func (w *world) saw(op string, status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if status < 300 {
		w.seen[op] = true
	}
}

// missed names the operations that never succeeded.
func (w *world) missed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ops []string
	for _, item := range w.law.Paths.Map() {
		for _, op := range item.Operations() {
			if !w.seen[op.OperationID] {
				ops = append(ops, op.OperationID)
			}
		}
	}
	slices.Sort(ops)
	return ops
}

// is fails the test unless a response has the status.
func (w *world) is(want int, got interface{ StatusCode() int }, err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	if got.StatusCode() != want {
		w.Fatalf("status %d, want %d: %+v", got.StatusCode(), want, got)
	}
}

// metric reads a metric by its name with labels, as in /metrics. It is 0 if it is missing.
func (w *world) metric(name string) string {
	w.Helper()
	got, err := w.all.MetricsWithResponse(context.Background())
	w.is(http.StatusOK, got, err)
	for line := range strings.Lines(string(got.Body)) {
		if v, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(v)
		}
	}
	return "0"
}

// becomes waits until a metric has a value.
func (w *world) becomes(name, want string) {
	w.Helper()
	until(w.T, name+" is "+want, func() bool { return w.metric(name) == want })
}

// lockedBuffer is a buffer with a lock for one writer and one reader.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
