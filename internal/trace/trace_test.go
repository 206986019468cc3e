package trace_test

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collector receives spans and decodes them with the protocol's own types.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	status  int
	raw     []byte
	service map[string]string
	spans   []*tracepb.Span
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{status: 200, service: map[string]string{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if r.Method != "POST" || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		b, err := io.ReadAll(r.Body)
		var d tracepb.TracesData
		if err == nil {
			err = proto.UnmarshalOptions{DiscardUnknown: false}.Unmarshal(b, &d)
		}
		if err != nil || len(d.ProtoReflect().GetUnknown()) > 0 {
			t.Error(err, d.ProtoReflect().GetUnknown())
		}
		c.raw = append(c.raw, b...)
		for _, rs := range d.ResourceSpans {
			for _, a := range rs.Resource.Attributes {
				c.service[a.Key] = a.Value.GetStringValue()
			}
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
		w.WriteHeader(c.status)
	}))
	t.Cleanup(c.Close)
	return c
}

// send sends questions to a collector and waits until it has them.
func (c *collector) send(t *testing.T, failed func(error), questions ...api.AskedQuestion) {
	t.Helper()
	tracer := trace.New(trace.Options{Endpoint: c.URL, Version: "1.2.3", Failed: failed})
	for _, q := range questions {
		tracer.Question(q)
	}
	if err := tracer.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

const secret = "Quillfeather"

// asked is a question that was answered.
func asked(header ...string) api.AskedQuestion {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := http.Header{"Authorization": {"Bearer " + secret}}
	for _, one := range header {
		name, value, _ := strings.Cut(one, ": ")
		h.Set(name, value)
	}
	return api.AskedQuestion{
		Operation: "ask", Request: "r1", Header: h, Began: began, Ended: began.Add(100 * time.Millisecond),
		Answer: api.Answer{
			Answer: secret, Outcome: "tensor_hit", Finish: "end", Citations: []api.Citation{{Quote: secret, About: secret}}, Gate: api.Gate{Why: secret},
			Tokens: api.Tokens{Prompt: 100, Reused: 60, Computed: 40, Generated: 5}, Chunks: api.Reuse{Stored: 2, All: 3}, Notes: []string{secret},
			Times: map[string]float64{
				"match_question_ms": 1, "retrieve_ms": 2, "match_tensors_ms": 3, "queue_ms": 4, "load_tensors_ms": 5, "prefill_ms": 6, "first_token_ms": 12,
				"decode_ms": 30, "capture_ms": 0, "store_ms": 0.5, "total_ms": 60,
			},
		},
	}
}

// A question is a span, with a span for each stage that it had, one behind the other.
func TestQuestion(t *testing.T) {
	c := newCollector(t)
	c.send(t, func(err error) { t.Error(err) }, asked())
	if d := cmp.Diff(map[string]string{"service.name": "percached", "service.version": "1.2.3"}, c.service); d != "" {
		t.Error(d)
	}
	began := uint64(asked().Began.UnixNano())
	var root *tracepb.Span
	got := map[string][2]float64{} // milliseconds since the beginning
	for _, s := range c.spans {
		got[s.Name] = [2]float64{float64(s.StartTimeUnixNano-began) / 1e6, float64(s.EndTimeUnixNano-began) / 1e6}
		if s.Name == "percached ask" {
			root = s
		}
	}
	want := map[string][2]float64{
		"percached ask": {0, 100}, "match_question": {0, 1}, "retrieve": {1, 3}, "match_tensors": {3, 6}, "queue": {6, 10}, "load_tensors": {10, 15},
		"prefill": {15, 21}, "decode": {21, 51}, "store": {51, 51.5},
	}
	if d := cmp.Diff(want, got); d != "" || root == nil {
		t.Fatal(d)
	}
	for _, s := range c.spans {
		if s != root && (string(s.ParentSpanId) != string(root.SpanId) || string(s.TraceId) != string(root.TraceId)) {
			t.Errorf("%s is not below the question", s.Name)
		}
	}
	if len(root.Events) != 1 || root.Events[0].TimeUnixNano-began != 22e6 || root.Kind != tracepb.Span_SPAN_KIND_SERVER || len(root.ParentSpanId) > 0 {
		t.Errorf("%+v", root)
	}
	attributes := map[string]any{}
	for _, a := range root.Attributes {
		if attributes[a.Key] = a.Value.GetIntValue(); a.Value.GetStringValue() != "" {
			attributes[a.Key] = a.Value.GetStringValue()
		}
	}
	for key, want := range map[string]any{
		"percached.request": "r1", "percached.outcome": "tensor_hit", "percached.tokens.reused": int64(60), "percached.chunks.all": int64(3),
	} {
		if attributes[key] != want {
			t.Errorf("%s: %v", key, attributes[key])
		}
	}
	if strings.Contains(string(c.raw), secret) {
		t.Error("a text or a secret was sent")
	}
}

// A question belongs to the trace of its client, which also decides whether it is recorded.
func TestTraceparent(t *testing.T) {
	const of, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	c := newCollector(t)
	c.send(t, nil, asked("Traceparent: 00-"+of+"-"+parent+"-01"), asked("Traceparent: 00-"+strings.Repeat("1", 32)+"-"+parent+"-00"), asked("Traceparent: nonsense"))
	roots := map[string]string{}
	for _, s := range c.spans {
		if s.Name == "percached ask" {
			roots[hex.EncodeToString(s.TraceId)] = hex.EncodeToString(s.ParentSpanId)
		}
	}
	if roots[of] != parent || len(roots) != 2 || roots[strings.Repeat("1", 32)] != "" {
		t.Error(roots)
	}
}

func TestFailedQuestion(t *testing.T) {
	c := newCollector(t)
	q := asked()
	q.Answer, q.Failure = api.Answer{}, "overloaded"
	c.send(t, nil, q)
	if len(c.spans) != 1 || c.spans[0].Status.Code != tracepb.Status_STATUS_CODE_ERROR || c.spans[0].Status.Message != "overloaded" {
		t.Errorf("%+v", c.spans)
	}
}

// A collector that refuses is reported, and one that is away delays nothing.
func TestCollectorFails(t *testing.T) {
	c := newCollector(t)
	c.status = 503
	var said []error
	c.send(t, func(err error) { said = append(said, err) }, asked())
	if len(said) != 1 || !strings.Contains(said[0].Error(), "503") {
		t.Error(said)
	}
	c.Close()
	said = nil
	c.send(t, func(err error) { said = append(said, err) }, asked())
	if len(said) != 1 {
		t.Error(said)
	}
}

// A path of the address is kept.
func TestEndpointWithPath(t *testing.T) {
	paths := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { paths <- r.URL.Path }))
	defer srv.Close()
	for endpoint, want := range map[string]string{srv.URL: "/v1/traces", srv.URL + "/": "/v1/traces", srv.URL + "/tempo/traces": "/tempo/traces"} {
		tracer := trace.New(trace.Options{Endpoint: endpoint})
		tracer.Question(asked())
		if err := tracer.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := <-paths; got != want {
			t.Errorf("%s: %s", endpoint, got)
		}
	}
}
