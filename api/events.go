package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
)

// recheckEvery is how often it is looked whether a listener's token still holds.
const recheckEvery = time.Second

// events streams news to a listener for as long as its token allows it.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	if _, err := params[Nothing](r); err != nil {
		return err
	}
	grant := grantOf(r.Context())
	l := s.Events.subscribe(grant)
	defer s.Events.unsubscribe(l)
	out := newEventStream(w, r)
	defer out.close()
	if err := out.comment(); err != nil { // the client sees that it listens
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
			return nil // the token was taken back
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

// Event is news of what the cache does. It holds no text of documents or
// questions.
type Event struct {
	Type  string         `json:"type"` // one of the types below
	At    time.Time      `json:"at"`
	Space string         `json:"space,omitempty"` // empty: of no space; shown to tokens for all spaces only
	Data  map[string]any `json:"data,omitempty"`
}

// The types of events.
const (
	EventAnswer    = "answer"    // a question was answered: outcome, ms, chunks stored and all, tokens reused and computed
	EventRefused   = "refused"   // a question failed: kind
	EventStored    = "stored"    // slices came in: slices, bytes
	EventEvicted   = "evicted"   // made room: layer (tensors, bank), count, bytes
	EventJob       = "job"       // idle work ended: id, kind, subject, end, seconds, tokens computed and generated, bytes written, questions
	EventUpload    = "upload"    // an upload moved on: id, state, counts
	EventForgotten = "forgotten" // documents went: the receipt's counts
	EventSettings  = "settings"  // settings of a space or of the daemon changed: keys
	EventLost      = "lost"      // the listener was too slow: events that it missed
)

// backlog is how many events wait for a slow listener.
const backlog = 256

// Hub carries events to those who listen. The zero Hub works.
type EventBus struct {
	mu        sync.Mutex
	listeners map[*subscriber]bool
	closed    bool
}

// listener is one who listens, and what it has not heard yet.
type subscriber struct {
	grant  Grant
	queue  []Event // guarded, like missed and ended, by Hub.mu
	missed int
	ended  bool
	more   chan struct{} // holds something when there is something to hear
}

// Publish tells all who listen. It waits for nobody.
func (h *EventBus) Publish(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if !l.grant.sees(e.Space) {
			continue
		}
		told, ok := l.grant.redactEvent(e)
		switch {
		case !ok:
			continue
		case len(l.queue) >= backlog:
			l.missed++
		default:
			l.queue = append(l.queue, told)
		}
		l.signal()
	}
}

// Close ends all who listen, now and later.
func (h *EventBus) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for l := range h.listeners {
		l.ended = true
		l.signal()
	}
}

// Listeners counts those who listen.
func (h *EventBus) Subscribers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.listeners)
}

// listen makes a listener that hears what its grant sees.
func (h *EventBus) subscribe(g Grant) *subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := &subscriber{grant: g, ended: h.closed, more: make(chan struct{}, 1)}
	if h.listeners == nil {
		h.listeners = map[*subscriber]bool{}
	}
	h.listeners[l] = true
	if l.ended {
		l.signal()
	}
	return l
}

func (h *EventBus) unsubscribe(l *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, l)
}

// hear takes what came in, how many events did not fit behind it, and whether
// that was the end.
func (h *EventBus) takeEvents(l *subscriber) (events []Event, missed int, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	events, missed = l.queue, l.missed
	l.queue, l.missed = nil, 0
	return events, missed, l.ended
}

// wake says that there is something to hear.
func (l *subscriber) signal() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// stream is a response of server-sent events. It begins with what is sent first:
// until then a handler can still fail with a status of its own. Its methods may
// be called from several goroutines.
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

// newStream makes a stream, which the handler closes before it returns.
func newEventStream(w http.ResponseWriter, r *http.Request) *eventStream {
	x := exchangeOf(r.Context())
	s := &eventStream{w: http.NewResponseController(w), x: x, heartbeat: x.options.Heartbeat, to: w}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beat = time.AfterFunc(s.heartbeat, func() { _ = s.comment() })
	return s
}

// send sends an event with one line of JSON. Without a name it is an event as
// OpenAI sends them.
func (s *eventStream) send(event string, v any) error {
	text, err := json.Marshal(withEmptyLists(v))
	if err != nil {
		return err
	}
	return s.raw(event, string(text))
}

// raw sends an event with one line of text.
func (s *eventStream) raw(event, line string) error {
	text := "data: " + line + "\n\n"
	if event != "" {
		text = "event: " + event + "\n" + text
	}
	return s.write(text)
}

// comment sends what clients pass over, so that both sides see that the other is
// there.
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
		s.to.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
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

// fail ends the stream with an error: as an event, or, where nothing was sent
// yet, as the error that the handler returns.
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
		event = "" // their clients look for the member error
	}
	return s.send(event, s.x.problemOf(err))
}

// close ends the stream: nothing is written any more.
func (s *eventStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.beat.Stop()
}
