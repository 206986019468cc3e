package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
)

func newRecorder() *httptest.ResponseRecorder { return httptest.NewRecorder() }

// listenTo opens an event stream and waits until it is subscribed.
func listenTo(t *testing.T, srv *httptest.Server, token string) (*bufio.Reader, func()) {
	t.Helper()
	in, _, end := resume(t, srv, token, "")
	return in, end
}

// resume opens an event stream after the event with an id. It returns the id with which the stream
// begins.
func resume(t *testing.T, srv *httptest.Server, token, last string) (in *bufio.Reader, id string, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, "GET", srv.URL+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d", resp.StatusCode)
	}
	in = bufio.NewReader(resp.Body)
	id, e, ok := nextNumbered(t, in)
	if !ok || e != (event{}) {
		t.Fatalf("it begins with %+v", e)
	}
	return in, id, func() { cancel(); resp.Body.Close() }
}

// Each subscriber receives the events that its token may see, in order.
func TestEvents(t *testing.T) {
	bus := &EventBus{}
	srv := testServer(t, Backend{}, func(o *Options) { o.Events = bus })
	whole, end := listenTo(t, srv, askToken)
	defer end()
	mail, end := listenTo(t, srv, mailAskToken)
	defer end()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sent := []Event{
		{EventAnswer, at, "mail", map[string]any{"outcome": "miss", "ms": 4000.0}},
		{EventStored, at, "notes", nil},
		{EventSettings, at, "", nil},
		{EventJob, at, "mail", nil},
	}
	for _, e := range sent {
		bus.Publish(e)
	}
	hear := func(in *bufio.Reader, n int) (heard []Event) {
		for range n {
			got, _ := nextEvent(t, in)
			var e Event
			if err := json.Unmarshal([]byte(got.data), &e); err != nil || got.name != e.Type {
				t.Fatalf("%v: %+v", err, got)
			}
			heard = append(heard, e)
		}
		return heard
	}
	if diff := cmp.Diff(sent, hear(whole, 4)); diff != "" {
		t.Errorf("all spaces (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Event{sent[0], sent[3]}, hear(mail, 2)); diff != "" {
		t.Errorf("one space (-want +got):\n%s", diff)
	}
	bus.Close()
	for _, in := range []*bufio.Reader{whole, mail} {
		if e, ok := nextEvent(t, in); ok {
			t.Errorf("behind the end: %+v", e)
		}
	}
	if _, text := send(t, srv, "GET /v1/events", ""); !strings.HasPrefix(text, ":\nid: ") || strings.Count(text, "\n") != 3 {
		t.Errorf("who comes later hears %q", text)
	}
}

// A token may open as many streams as slots are free. Streams use none of the slots of other
// requests.
func TestManyListeners(t *testing.T) {
	srv := testServer(t, Backend{About: func(context.Context, Nothing) (About, error) { return About{}, nil }},
		func(o *Options) { o.MaxStreams, o.MaxRequests = 5, 1 })
	refused := func(token string) {
		t.Helper()
		a := exchangeRaw(t, srv, raw("GET /v1/events", "", "Authorization: Bearer "+token))
		if a.StatusCode != 429 || a.name() != "too_many_streams" || a.Header.Get("Retry-After") == "" {
			t.Errorf("status %d: %s", a.StatusCode, a.text)
		}
	}
	for _, token := range []string{askToken, askToken, mailAskToken} {
		_, end := listenTo(t, srv, token)
		defer end()
		if token == askToken {
			continue
		}
		refused(askToken)
		refused(mailAskToken)
	}
	_, end := listenTo(t, srv, adminToken)
	defer end()
	if a := exchangeRaw(t, srv, raw("GET /v1/about", "")); a.StatusCode != 200 {
		t.Errorf("status %d: %s", a.StatusCode, a.text)
	}
}

// A revoked token's streams end.
func TestRevokedListener(t *testing.T) {
	bus, revoked := &EventBus{}, atomic.Bool{}
	srv := testServer(t, Backend{}, func(o *Options) {
		o.Events = bus
		o.Authorize = func(ctx context.Context, s string) (Grant, error) {
			g, err := authorize(ctx, s)
			if revoked.Load() {
				err = fault.New(fault.Invalid, "test", "revoked")
			}
			return g, err
		}
	})
	in, end := listenTo(t, srv, askToken)
	defer end()
	revoked.Store(true)
	bus.Publish(Event{Type: EventAnswer, Space: "mail"})
	if e, ok := nextEvent(t, in); ok {
		t.Errorf("it hears %+v", e)
	}
}

// When a space is deleted, the streams end that saw it: what they heard is forgotten.
func TestForgetEndsStreams(t *testing.T) {
	var h EventBus
	l, _ := h.subscribe(Grant{Space: "mail", Role: RoleAsk, More: map[string]Role{"team": RoleAsk}}, "")
	h.Forget("mail")
	select {
	case <-l.more:
	default:
		t.Fatal("the stream hears nothing any more, and does not end")
	}
	if _, ended := h.takeEvents(l, time.Time{}); !ended {
		t.Error("the stream does not end")
	}
}

// After an error with a status of its own, no heartbeat begins the stream.
func TestFailedStreamSendsNothing(t *testing.T) {
	o, rec := Default(), newRecorder()
	r := httptest.NewRequest("POST", "/v1/chat/completions", nil)
	s := newEventStream(rec, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, &exchange{options: &o})))
	defer s.close()
	if err := s.fail(errors.New("no")); err == nil {
		t.Error("the handler does not hear of it")
	}
	if _ = s.comment(); rec.Body.Len() > 0 {
		t.Errorf("it sends %q", rec.Body)
	}
}
