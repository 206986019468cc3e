package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
)

// stream is a response of server-sent events. It begins with what is sent first:
// until then a handler can still fail with a status of its own. Its methods may
// be called from several goroutines.
type stream struct {
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
func newStream(w http.ResponseWriter, r *http.Request) *stream {
	x := exchangeOf(r.Context())
	s := &stream{w: http.NewResponseController(w), x: x, heartbeat: x.options.Heartbeat, to: w}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beat = time.AfterFunc(s.heartbeat, func() { _ = s.comment() })
	return s
}

// send sends an event with one line of JSON. Without a name it is an event as
// OpenAI sends them.
func (s *stream) send(event string, v any) error {
	text, err := json.Marshal(whole(v))
	if err != nil {
		return err
	}
	return s.raw(event, string(text))
}

// raw sends an event with one line of text.
func (s *stream) raw(event, line string) error {
	text := "data: " + line + "\n\n"
	if event != "" {
		text = "event: " + event + "\n" + text
	}
	return s.write(text)
}

// comment sends what clients pass over, so that both sides see that the other is
// there.
func (s *stream) comment() error { return s.write(":\n\n") }

func (s *stream) write(text string) error {
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
		s.err = errGone
		return s.err
	}
	s.beat.Reset(s.heartbeat)
	return nil
}

// fail ends the stream with an error: as an event, or, where nothing was sent
// yet, as the error that the handler returns.
func (s *stream) fail(err error) error {
	s.mu.Lock()
	begun := s.begun
	s.mu.Unlock()
	if !begun || errors.Is(err, errGone) {
		return err
	}
	name, _, _ := problemFor(err)
	s.x.note(name, err)
	event := "error"
	if forOpenAI(s.x.path) {
		event = "" // their clients look for the member error
	}
	return s.send(event, s.x.problemOf(err))
}

// close ends the stream: nothing is written any more.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.beat.Stop()
}
