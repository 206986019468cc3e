package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newRecorder() *httptest.ResponseRecorder { return httptest.NewRecorder() }

// listenTo opens an event stream and waits until it is subscribed.
func listenTo(t *testing.T, srv *httptest.Server, token string) (*bufio.Reader, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, "GET", srv.URL+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d", resp.StatusCode)
	}
	in := bufio.NewReader(resp.Body)
	if e, ok := nextEvent(t, in); !ok || e != (event{}) {
		t.Fatalf("it begins with %+v", e)
	}
	return in, func() { cancel(); resp.Body.Close() }
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
	if _, text := send(t, srv, "GET /v1/events", ""); text != ":\n\n" {
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
		o.Authorize = func(s string) (Grant, bool) {
			g, ok := authorize(s)
			return g, ok && !revoked.Load()
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

// Publish does not block: events beyond the backlog are counted, and the slow subscriber
// receives the count.
func TestHubSlowListener(t *testing.T) {
	var h EventBus
	h.Publish(Event{}) // nobody listens
	l := h.subscribe(Grant{Space: "mail", Role: RoleAsk})
	for i := range backlog + 7 {
		h.Publish(Event{Type: fmt.Sprint(i), Space: "mail"})
		h.Publish(Event{Space: "other"})
	}
	<-l.more
	heard, missed, ended := h.takeEvents(l)
	if len(heard) != backlog || heard[0].Type != "0" || missed != 7 || ended {
		t.Errorf("%d heard, %d missed, ended %v", len(heard), missed, ended)
	}
	h.Publish(Event{Space: "mail"})
	if heard, missed, _ := h.takeEvents(l); len(heard) != 1 || missed != 0 {
		t.Errorf("then %d heard, %d missed", len(heard), missed)
	}
	h.unsubscribe(l)
	h.Publish(Event{Space: "mail"})
	if heard, _, _ := h.takeEvents(l); len(heard) != 0 {
		t.Error("it hears what comes when it has left")
	}
}

// A slow subscriber of the daemon receives the event lost.
func TestLostEvent(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	bus := &EventBus{}
	first, fall := make(chan bool), make(chan bool)
	var once sync.Once
	srv := testServer(t, Backend{}, func(o *Options) {
		o.Events, o.Now = bus, func() time.Time { return now }
		o.Authorize = func(s string) (Grant, bool) {
			select {
			case <-first: // the stream was opened: it looks at its token again
				once.Do(func() { <-fall })
			default:
			}
			return authorize(s)
		}
	})
	in, end := listenTo(t, srv, askToken)
	defer end()
	close(first)
	bus.Publish(Event{Type: EventJob})
	// It took that one, or has not looked yet: nothing more is taken until it falls.
	for range 2*backlog + 1 {
		bus.Publish(Event{Type: EventStored})
	}
	close(fall)
	heard := 0
	for {
		e, _ := nextEvent(t, in)
		if e.name != EventLost {
			heard++
			continue
		}
		var lost Event
		if err := json.Unmarshal([]byte(e.data), &lost); err != nil {
			t.Fatal(err)
		}
		if missed := lost.Data["missed"].(float64); int(missed) == 0 || !lost.At.Equal(now) {
			t.Errorf("lost: %+v", lost)
		}
		if heard < backlog {
			t.Errorf("%d heard", heard)
		}
		return
	}
}

// Concurrent publish, subscribe and unsubscribe are safe.
func TestHubTogether(t *testing.T) {
	var h EventBus
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 200 {
				l := h.subscribe(Grant{Role: RoleAsk})
				h.Publish(Event{Type: EventJob})
				<-l.more
				if heard, _, ended := h.takeEvents(l); len(heard) == 0 && !ended {
					t.Error("its own event was not heard")
				}
				h.unsubscribe(l)
			}
			if i == 0 {
				h.Close()
			}
		})
	}
	all.Wait()
	if len(h.subscribers) != 0 {
		t.Errorf("%d listeners are left", len(h.subscribers))
	}
}
