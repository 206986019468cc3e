package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
)

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

// sendNumbered sends an event with its id.
func (s *eventStream) sendNumbered(e numberedEvent) error {
	text, err := json.Marshal(withEmptyLists(e.Event))
	if err != nil {
		return err
	}
	return s.write("id: " + e.id + "\nevent: " + e.Type + "\ndata: " + string(text) + "\n\n")
}

// open shows the client that the stream is open, and where it begins: a block with an id and no
// data is no event, but clients keep the id.
func (s *eventStream) open(id string) error {
	text := ":\n"
	if id != "" {
		text += "id: " + id + "\n"
	}
	return s.write(text + "\n")
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

// answered sets the header that says how the answer came about, if nothing was sent yet.
func (s *eventStream) answered(a Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		setAnswerHeader(s.to, a)
	}
}

// fail ends the stream with an error. If nothing was sent yet, it returns the error, and the
// handler fails with it; otherwise it sends an error event.
func (s *eventStream) fail(err error) error {
	s.mu.Lock()
	begun := s.begun
	s.ended = s.ended || !begun // the error has a status of its own, which no heartbeat may anticipate
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
