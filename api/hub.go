package api

import (
	"sync"
	"time"
)

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
type Hub struct {
	mu        sync.Mutex
	listeners map[*listener]bool
	closed    bool
}

// listener is one who listens, and what it has not heard yet.
type listener struct {
	grant  Grant
	queue  []Event // guarded, like missed and ended, by Hub.mu
	missed int
	ended  bool
	more   chan struct{} // holds something when there is something to hear
}

// Publish tells all who listen. It waits for nobody.
func (h *Hub) Publish(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if !l.grant.sees(e.Space) {
			continue
		}
		told, ok := l.grant.event(e)
		switch {
		case !ok:
			continue
		case len(l.queue) >= backlog:
			l.missed++
		default:
			l.queue = append(l.queue, told)
		}
		l.wake()
	}
}

// Close ends all who listen, now and later.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for l := range h.listeners {
		l.ended = true
		l.wake()
	}
}

// Listeners counts those who listen.
func (h *Hub) Listeners() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.listeners)
}

// listen makes a listener that hears what its grant sees.
func (h *Hub) listen(g Grant) *listener {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := &listener{grant: g, ended: h.closed, more: make(chan struct{}, 1)}
	if h.listeners == nil {
		h.listeners = map[*listener]bool{}
	}
	h.listeners[l] = true
	if l.ended {
		l.wake()
	}
	return l
}

func (h *Hub) leave(l *listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.listeners, l)
}

// hear takes what came in, how many events did not fit behind it, and whether
// that was the end.
func (h *Hub) hear(l *listener) (events []Event, missed int, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	events, missed = l.queue, l.missed
	l.queue, l.missed = nil, 0
	return events, missed, l.ended
}

// wake says that there is something to hear.
func (l *listener) wake() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}
