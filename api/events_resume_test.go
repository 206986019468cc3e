package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// subjects returns what the next n events of a stream are about, and the id of the last one. It
// checks that the ids differ.
func subjects(t *testing.T, in *bufio.Reader, n int) (heard []string, last string) {
	t.Helper()
	ids := map[string]bool{}
	for range n {
		id, got, ok := nextNumbered(t, in)
		if !ok || id == "" || ids[id] {
			t.Fatalf("after %v: %+v with the id %q", heard, got, id)
		}
		ids[id], last = true, id
		heard = append(heard, fmt.Sprint(got.name, eventOf(t, got).Data))
	}
	return heard, last
}

// numbered is an event of a space with a number that tells it from others.
func numbered(space string, n int) Event {
	return Event{Type: EventJob, Space: space, Data: map[string]any{"n": n}}
}

// expected is what subjects returns for numbered events.
func expected(numbers ...int) (all []string) {
	for _, n := range numbers {
		all = append(all, fmt.Sprintf("job%v", map[string]any{"n": n}))
	}
	return all
}

// A client that names its last event receives those after it, in order and once, also if its
// connection broke before the first one.
func TestResumedEvents(t *testing.T) {
	bus := &EventBus{}
	srv := testServer(t, Backend{}, func(o *Options) { o.Events = bus })
	in, begin, end := resume(t, srv, askToken, "")
	for n := range 3 {
		bus.Publish(numbered("mail", n))
	}
	_, first := subjects(t, in, 1)
	_, last := subjects(t, in, 2)
	end()
	for n := range 3 {
		bus.Publish(numbered("notes", 3+n))
	}
	for _, tt := range []struct {
		name, last string
		want       []string
	}{
		{"after the last", last, expected(3, 4, 5)},
		{"after the first", first, expected(1, 2, 3, 4, 5)},
		{"before the first", begin, expected(0, 1, 2, 3, 4, 5)},
	} {
		in, at, end := resume(t, srv, askToken, tt.last)
		if at != tt.last {
			t.Errorf("%s: it begins at %q, not at %q", tt.name, at, tt.last)
		}
		got, newest := subjects(t, in, len(tt.want))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		end()
		if _, at, end = resume(t, srv, adminToken, newest); at != newest {
			t.Errorf("%s: another token begins at %q, not at %q", tt.name, at, newest)
		}
		end()
	}
	// Without an id, a stream has only what comes.
	in, _, end = resume(t, srv, askToken, "")
	defer end()
	bus.Publish(numbered("mail", 6))
	if got, _ := subjects(t, in, 1); !slices.Equal(got, expected(6)) {
		t.Errorf("a new stream hears %v", got)
	}
}

// lostAt resumes a stream whose first event must be lost, and returns how many events were missed
// and the ids of that event.
func lostAt(t *testing.T, srv *httptest.Server, token, last string) (in *bufio.Reader, missed any, id string, end func()) {
	t.Helper()
	in, at, end := resume(t, srv, token, last)
	id, got, ok := nextNumbered(t, in)
	if !ok || got.name != EventLost || id == "" {
		t.Fatalf("after %q: %+v with the id %q", last, got, id)
	}
	if at != "" && at != last {
		t.Errorf("it begins at %q: who breaks off there does not learn of the loss", at)
	}
	return in, eventOf(t, got).Data["missed"], id, end
}

// If too many events were missed, the first event says how many, and the kept ones follow.
func TestOverrunEvents(t *testing.T) {
	bus := &EventBus{}
	srv := testServer(t, Backend{}, func(o *Options) { o.Events = bus })
	_, begin, end := resume(t, srv, mailAskToken, "")
	end()
	for n := range keptEvents + 7 {
		bus.Publish(numbered("mail", n))
		bus.Publish(numbered("notes", n))
	}
	in, missed, lost, end := lostAt(t, srv, mailAskToken, begin)
	if missed != 7.0 {
		t.Errorf("%v missed", missed)
	}
	got, _ := subjects(t, in, keptEvents)
	if got[0] != expected(7)[0] || got[keptEvents-1] != expected(keptEvents + 6)[0] {
		t.Errorf("heard %s to %s", got[0], got[keptEvents-1])
	}
	end()
	in, _, end = resume(t, srv, mailAskToken, lost) // the loss is told once
	defer end()
	if got, _ := subjects(t, in, 2); !slices.Equal(got, expected(7, 8)) {
		t.Errorf("after the loss it hears %v", got)
	}
}

// After a restart, and for an id that was never sent, the first event says that events are lost,
// and what comes follows.
func TestUnknownEventID(t *testing.T) {
	before, bus := &EventBus{}, &EventBus{}
	old := testServer(t, Backend{}, func(o *Options) { o.Events = before })
	in, _, end := resume(t, old, askToken, "")
	before.Publish(numbered("mail", 0))
	_, last := subjects(t, in, 1)
	end()
	srv := testServer(t, Backend{}, func(o *Options) { o.Events = bus })
	_, known, end := resume(t, srv, askToken, "")
	end()
	for n := range 3 {
		bus.Publish(numbered("mail", n))
	}
	name, _, _ := strings.Cut(known, "-")
	for _, id := range []string{last, "x", "-", "7", name, name + "-", name + "-4", name + "--1", name + "-99999999999999999999", strings.Repeat("a", 4000)} {
		_, missed, lost, end := lostAt(t, srv, askToken, id)
		if missed != nil || lost != name+"-3" {
			t.Errorf("after %q: %v missed, at %s", id, missed, lost)
		}
		end()
	}
	in, _, _, end = lostAt(t, srv, askToken, last)
	defer end()
	bus.Publish(numbered("mail", 3))
	if got, at := subjects(t, in, 1); !slices.Equal(got, expected(3)) || at != name+"-4" {
		t.Errorf("it hears %v, at %s", got, at)
	}
}

// The ids of a token for one space do not depend on other spaces, and are unknown in them. So is
// an event of a deleted space in a new one of the same name.
func TestEventIDsOfTwoTokens(t *testing.T) {
	bus := &EventBus{}
	srv := testServer(t, Backend{}, func(o *Options) { o.Events = bus })
	mail, _, end := resume(t, srv, mailAskToken, "")
	defer end()
	whole, _, end := resume(t, srv, askToken, "")
	defer end()
	bus.Publish(numbered("mail", 0))
	_, first := subjects(t, mail, 1)
	for n := range 5 {
		bus.Publish(numbered("notes", n))
		bus.Publish(Event{Type: EventSettings})
		bus.Publish(Event{Type: EventEvicted, Space: "mail"})
	}
	bus.Publish(numbered("mail", 1))
	_, second := subjects(t, mail, 1)
	name, number, _ := strings.Cut(first, "-")
	if number != "1" || second != name+"-2" {
		t.Errorf("ids %q and %q", first, second)
	}
	_, ofAll := subjects(t, whole, 17)
	if strings.HasPrefix(ofAll, name) {
		t.Errorf("two streams have ids %q and %q", ofAll, second)
	}
	// An id of another stream shows nothing.
	in, missed, _, end := lostAt(t, srv, mailAskToken, ofAll)
	defer end()
	bus.Publish(numbered("mail", 2))
	if got, _ := subjects(t, in, 1); missed != nil || !slices.Equal(got, expected(2)) {
		t.Errorf("%v missed, heard %v", missed, got)
	}
	bus.Forget("mail")
	in, missed, id, end := lostAt(t, srv, mailAskToken, first)
	defer end()
	bus.Publish(numbered("mail", 3))
	if got, _ := subjects(t, in, 1); missed != nil || strings.HasPrefix(id, name) || !strings.HasSuffix(id, "-0") || !slices.Equal(got, expected(3)) {
		t.Errorf("after the deletion: %v missed, id %q, heard %v", missed, id, got)
	}
}

// A slow subscriber of the daemon receives the event lost, with the number of missed events.
func TestLostEvent(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	bus := &EventBus{}
	first, fall := make(chan bool), make(chan bool)
	var once sync.Once
	srv := testServer(t, Backend{}, func(o *Options) {
		o.Events, o.Now = bus, func() time.Time { return now }
		o.Authorize = func(ctx context.Context, s string) (Grant, error) {
			select {
			case <-first: // the stream was opened: it looks at its token again
				once.Do(func() { <-fall })
			default:
			}
			return authorize(ctx, s)
		}
	})
	in, end := listenTo(t, srv, askToken)
	defer end()
	close(first)
	// It takes some of them, then waits until it falls.
	const sent = 3*keptEvents + 1
	for n := range sent {
		bus.Publish(numbered("mail", n))
	}
	close(fall)
	heard, missed := 0, 0
	for heard+missed < sent {
		got, _ := nextEvent(t, in)
		if got.name != EventLost {
			heard++
			continue
		}
		var lost Event
		if err := json.Unmarshal([]byte(got.data), &lost); err != nil {
			t.Fatal(err)
		}
		if missed += int(lost.Data["missed"].(float64)); !lost.At.Equal(now) {
			t.Errorf("lost: %+v", lost)
		}
	}
	if missed == 0 || heard+missed != sent {
		t.Errorf("%d heard and %d missed of %d", heard, missed, sent)
	}
}

// Publish does not block while nobody takes events, and the bus keeps a bounded number.
func TestEventBusSlowSubscriber(t *testing.T) {
	var h EventBus
	h.Publish(Event{}) // nobody listens
	l, _ := h.subscribe(Grant{Space: "mail", Role: RoleAsk}, "")
	for n := range keptEvents + 7 {
		h.Publish(numbered("mail", n))
		h.Publish(numbered("other", n))
	}
	<-l.more
	heard, ended := h.takeEvents(l, time.Time{})
	if len(heard) != 1+keptEvents || heard[0].Type != EventLost || heard[0].Data["missed"] != 7 || heard[1].Data["n"] != 7 || ended {
		t.Errorf("%d heard, ended %v: %v", len(heard), ended, heard[:2])
	}
	if kept := len(h.journals["mail"].latest); kept != keptEvents || len(h.journals) != 1 {
		t.Errorf("%d events are kept, of %d streams", kept, len(h.journals))
	}
	h.Publish(numbered("mail", 0))
	if heard, _ := h.takeEvents(l, time.Time{}); len(heard) != 1 {
		t.Errorf("then %d heard", len(heard))
	}
	<-l.more
	h.unsubscribe(l)
	h.Publish(numbered("mail", 0))
	select {
	case <-l.more:
		t.Error("it is called when it has left")
	default:
	}
}

// Concurrent publish, subscribe, resumption and unsubscribe are safe. A subscriber that resumes
// again and again hears each event once, in order.
func TestEventBusTogether(t *testing.T) {
	var h EventBus
	var all sync.WaitGroup
	const each = keptEvents / 8 // none is lost
	for i := range 8 {
		all.Go(func() {
			_, last := h.subscribe(Grant{Role: RoleAsk}, "")
			for n := range each {
				l, _ := h.subscribe(Grant{Role: RoleAsk}, last)
				h.Publish(numbered(fmt.Sprint(i), n))
				<-l.more
				heard, _ := h.takeEvents(l, time.Time{})
				h.unsubscribe(l)
				if !slices.ContainsFunc(heard, func(e numberedEvent) bool { return e.Space == fmt.Sprint(i) && e.Data["n"] == n }) {
					t.Errorf("its own event was not heard in %d", len(heard))
				}
				for _, e := range heard {
					number, _ := strconv.Atoi(strings.TrimPrefix(last, l.journal.name+"-")) // positionOf needs the lock
					if e.id != l.journal.idAt(number+1) {
						t.Errorf("%s follows %s", e.id, last)
					}
					last = e.id
				}
			}
		})
	}
	all.Wait()
	if h.Subscribers() != 8 { // those that only asked where the stream begins
		t.Errorf("%d streams are open", h.Subscribers())
	}
	h.Close()
	l, _ := h.subscribe(Grant{Role: RoleAsk}, "")
	<-l.more
	if heard, ended := h.takeEvents(l, time.Time{}); len(heard) > 0 || !ended {
		t.Errorf("%d heard behind the end", len(heard))
	}
}
