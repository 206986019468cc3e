package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
)

// recheckEvery is how often the server checks that a subscriber's token is still valid.
const recheckEvery = time.Second

// events streams events to a subscriber while its token is valid.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	if _, err := params[Nothing](r); err != nil {
		return err
	}
	grant := grantOf(r.Context())
	l := s.Events.subscribe(grant)
	defer s.Events.unsubscribe(l)
	out := newEventStream(w, r)
	defer out.close()
	if err := out.comment(); err != nil { // shows the client that the stream is open
		return err
	}
	secret, _ := bearer(r)
	recheck := time.NewTicker(min(recheckEvery, s.Heartbeat))
	defer recheck.Stop()
	for {
		var events []Event
		var missed int
		var ended bool
		select {
		case <-r.Context().Done():
			return r.Context().Err()
		case <-recheck.C:
		case <-l.more:
			events, missed, ended = s.Events.takeEvents(l)
		}
		if now, ok := s.Authorize(secret); !ok || now != grant {
			return nil // the token was revoked or changed
		}
		if missed > 0 {
			events = append(events, Event{Type: EventLost, At: s.Now(), Data: map[string]any{"missed": missed}})
		}
		for _, e := range events {
			if err := out.send(e.Type, e); err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
	}
}

// Event reports what percached did. It contains no text of documents or questions.
type Event struct {
	Type  string         `json:"type"` // one of the types below
	At    time.Time      `json:"at"`
	Space string         `json:"space,omitempty"` // empty: concerns no space; sent only to tokens for all spaces
	Data  map[string]any `json:"data,omitempty"`
}

// The types of events.
const (
	EventAnswer    = "answer"    // a question was answered: outcome, ms, chunks stored and all, tokens reused and computed
	EventRefused   = "refused"   // a question failed: kind
	EventStored    = "stored"    // slices were stored: slices, bytes
	EventEvicted   = "evicted"   // items were evicted: layer (tensors, bank), count, bytes
	EventJob       = "job"       // a job ended: id, kind, subject, end, seconds, tokens computed and generated, bytes written, questions
	EventUpload    = "upload"    // an upload made progress: id, state, counts
	EventForgotten = "forgotten" // documents were deleted, or what was kept long enough: the receipt's counts
	EventChanged   = "changed"   // idle work changed the answer of a question that a user had asked: entry
	EventSettings  = "settings"  // settings of a space or of the daemon changed: keys
	EventLost      = "lost"      // the subscriber was too slow: how many events it missed
)

// backlog is how many events are queued for a slow subscriber.
const backlog = 256

// EventBus sends events to subscribers. The zero value is ready to use.
type EventBus struct {
	mu          sync.Mutex
	subscribers map[*subscriber]bool
	closed      bool
}

// subscriber is one open stream and the events queued for it.
type subscriber struct {
	grant  Grant
	queue  []Event // EventBus.mu guards queue, missed and ended
	missed int
	ended  bool
	more   chan struct{} // holds a value while events are queued
}

// Publish sends an event to all subscribers that may see it. It does not block.
func (h *EventBus) Publish(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.subscribers {
		if !l.grant.sees(e.Space) {
			continue
		}
		redacted, ok := l.grant.redactEvent(e)
		switch {
		case !ok:
			continue
		case len(l.queue) >= backlog:
			l.missed++
		default:
			l.queue = append(l.queue, redacted)
		}
		l.signal()
	}
}

// Close ends all streams, including those opened later.
func (h *EventBus) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for l := range h.subscribers {
		l.ended = true
		l.signal()
	}
}

// Subscribers counts the open streams.
func (h *EventBus) Subscribers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subscribers)
}

// subscribe adds a subscriber that receives the events its grant may see.
func (h *EventBus) subscribe(g Grant) *subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := &subscriber{grant: g, ended: h.closed, more: make(chan struct{}, 1)}
	if h.subscribers == nil {
		h.subscribers = map[*subscriber]bool{}
	}
	h.subscribers[l] = true
	if l.ended {
		l.signal()
	}
	return l
}

func (h *EventBus) unsubscribe(l *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.subscribers, l)
}

// takeEvents empties a subscriber's queue. It also returns how many events were dropped, and
// whether the bus is closed.
func (h *EventBus) takeEvents(l *subscriber) (events []Event, missed int, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	events, missed = l.queue, l.missed
	l.queue, l.missed = nil, 0
	return events, missed, l.ended
}

// signal marks that the queue holds events.
func (l *subscriber) signal() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// eventStream is a response of server-sent events. The status is sent with the first event;
// until then a handler can fail with a status of its own. Its methods are safe for concurrent
// use.
type eventStream struct {
	w         *http.ResponseController
	x         *exchange
	heartbeat time.Duration

	mu    sync.Mutex
	to    http.ResponseWriter
	beat  *time.Timer
	begun bool
	ended bool
	err   error
}

// newEventStream makes a stream. The handler must close it before it returns.
func newEventStream(w http.ResponseWriter, r *http.Request) *eventStream {
	x := exchangeOf(r.Context())
	s := &eventStream{w: http.NewResponseController(w), x: x, heartbeat: x.options.Heartbeat, to: w}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beat = time.AfterFunc(s.heartbeat, func() { _ = s.comment() })
	return s
}

// send sends v as one line of JSON. An empty name makes an event without a name, as OpenAI
// sends them.
func (s *eventStream) send(event string, v any) error {
	text, err := json.Marshal(withEmptyLists(v))
	if err != nil {
		return err
	}
	return s.raw(event, string(text))
}

// raw sends one line of text.
func (s *eventStream) raw(event, line string) error {
	text := "data: " + line + "\n\n"
	if event != "" {
		text = "event: " + event + "\n" + text
	}
	return s.write(text)
}

// comment sends a line that clients ignore. It shows each side that the other is connected.
func (s *eventStream) comment() error { return s.write(":\n\n") }

func (s *eventStream) write(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.ended {
		return s.err
	}
	if !s.begun {
		s.begun = true
		s.to.Header().Set("Content-Type", "text/event-stream")
		s.to.Header().Set("X-Accel-Buffering", "no") // nginx must not buffer events
		s.to.WriteHeader(http.StatusOK)
	}
	_, err := s.to.Write([]byte(text))
	if err == nil {
		err = s.w.Flush()
	}
	if err != nil {
		s.err = errClientGone
		return s.err
	}
	s.beat.Reset(s.heartbeat)
	return nil
}

// fail ends the stream with an error. If nothing was sent yet, it returns the error, and the
// handler fails with it; otherwise it sends an error event.
func (s *eventStream) fail(err error) error {
	s.mu.Lock()
	begun := s.begun
	s.mu.Unlock()
	if !begun || errors.Is(err, errClientGone) {
		return err
	}
	name, _, _ := problemFor(err)
	s.x.noteProblem(name, err)
	event := "error"
	if forOpenAI(s.x.path) {
		event = "" // OpenAI's clients read the field error of unnamed events
	}
	return s.send(event, s.x.problemOf(err))
}

// close ends the stream; later writes are dropped.
func (s *eventStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.beat.Stop()
}
