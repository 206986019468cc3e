package api

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// recheckEvery is how often the server checks that a subscriber's token is still valid.
const recheckEvery = time.Second

// events streams events to a subscriber while its token is valid. A client that names the last
// event it received gets those after it.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	if _, err := params[Nothing](r); err != nil {
		return err
	}
	grant := grantOf(r.Context())
	l, position := s.Events.subscribe(grant, r.Header.Get("Last-Event-ID"))
	defer s.Events.unsubscribe(l)
	out := newEventStream(w, r)
	defer out.close()
	if err := out.open(position); err != nil {
		return err
	}
	secret, _ := bearer(r)
	recheck := time.NewTicker(min(recheckEvery, s.Heartbeat))
	defer recheck.Stop()
	for {
		var events []numberedEvent
		var ended bool
		select {
		case <-r.Context().Done():
			return r.Context().Err()
		case <-recheck.C:
		case <-l.more:
			events, ended = s.Events.takeEvents(l, s.Now())
		}
		if now, err := s.Authorize(r.Context(), secret); err != nil || !now.equal(grant) {
			return nil // the token was revoked or changed
		}
		for _, e := range events {
			if err := out.sendNumbered(e); err != nil {
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
	EventLost      = "lost"      // events are not kept any more: how many the subscriber missed, if known
)

// keptEvents is how many events are kept for a stream that is slow or broken.
const keptEvents = 1000

// EventBus sends events to subscribers. The zero value is ready to use.
type EventBus struct {
	mu          sync.Mutex
	journals    map[string]*journal // by the audience of the grants
	subscribers map[*subscriber]bool
	closed      bool
}

// journal holds the latest of the events that the tokens of one space may see, or those of all
// spaces. It numbers only these, so its ids say nothing about other spaces. It begins with its
// first subscriber. EventBus.mu guards it.
type journal struct {
	name   string // random: the ids of other journals and of an earlier daemon are unknown in it
	grant  Grant  // one that sees what the journal has
	count  int    // events since it began
	latest []Event
	ended  bool // by Forget: so do its streams
}

func (j *journal) add(e Event) {
	j.count++
	if len(j.latest) == keptEvents {
		j.latest = slices.Delete(j.latest, 0, 1)
	}
	j.latest = append(j.latest, e)
}

// oldest is the position before the first event that is kept.
func (j *journal) oldest() int { return j.count - len(j.latest) }

// idAt returns the id of the event that leads to a position.
func (j *journal) idAt(position int) string { return j.name + "-" + strconv.Itoa(position) }

// positionOf returns the position after the event with an id, and false if the id is unknown.
func (j *journal) positionOf(id string) (int, bool) {
	number, ok := strings.CutPrefix(id, j.name+"-")
	position, err := strconv.Atoi(number)
	return position, ok && err == nil && 0 <= position && position <= j.count
}

// numberedEvent is an event with its id in a stream.
type numberedEvent struct {
	id string
	Event
}

// subscriber is one open stream. EventBus.mu guards position and unknown.
type subscriber struct {
	journal  *journal
	position int           // how many events of the journal it has received or missed
	unknown  bool          // it named an unknown event, so it may have missed any number
	more     chan struct{} // holds a value while there is something to take
}

// Publish sends an event to all subscribers that may see it. It does not block.
func (h *EventBus) Publish(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, j := range h.journals {
		if !j.grant.sees(e.Space) {
			continue
		}
		if redacted, ok := j.grant.redactEvent(e); ok {
			j.add(redacted)
		}
	}
	for l := range h.subscribers {
		if l.position < l.journal.count {
			l.signal()
		}
	}
}

// Forget deletes the events kept for a space's tokens, and ends their streams. A deleted space's
// tokens are revoked before; those of a new space of the same name must not receive its events.
func (h *EventBus) Forget(space string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for audience, j := range h.journals {
		if j.grant.isScoped() && j.grant.sees(space) {
			delete(h.journals, audience)
			j.ended = true
		}
	}
	for l := range h.subscribers {
		if l.journal.ended {
			l.signal()
		}
	}
}

// Close ends all streams, including those opened later.
func (h *EventBus) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for l := range h.subscribers {
		l.signal()
	}
}

// Subscribers counts the open streams.
func (h *EventBus) Subscribers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subscribers)
}

// subscribe adds a subscriber that receives the events its grant may see after the one with the
// id last, or the coming ones if last is empty. It also returns the id of the position where it
// begins, which is empty if last is unknown.
func (h *EventBus) subscribe(g Grant, last string) (l *subscriber, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	j := h.journals[g.audience()]
	if j == nil {
		j = &journal{name: rand.Text(), grant: g}
		if h.journals == nil {
			h.journals, h.subscribers = map[string]*journal{}, map[*subscriber]bool{}
		}
		h.journals[g.audience()] = j
	}
	l = &subscriber{journal: j, position: j.count, more: make(chan struct{}, 1)}
	h.subscribers[l] = true
	if last != "" {
		position, known := j.positionOf(last)
		if l.unknown = !known; known {
			l.position = position
		}
	}
	if l.unknown || l.position < j.count || h.closed {
		l.signal()
	}
	if l.unknown {
		return l, ""
	}
	return l, j.idAt(l.position)
}

func (h *EventBus) unsubscribe(l *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.subscribers, l)
}

// takeEvents returns the events that a subscriber has not received, and whether the stream
// ends. If some are not kept any more, the first event says so.
func (h *EventBus) takeEvents(l *subscriber, now time.Time) (events []numberedEvent, ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	j := l.journal
	if oldest := j.oldest(); l.unknown || l.position < oldest {
		lost := Event{Type: EventLost, At: now}
		if !l.unknown {
			lost.Data = map[string]any{"missed": oldest - l.position}
			l.position = oldest
		}
		l.unknown = false
		events = append(events, numberedEvent{j.idAt(l.position), lost})
	}
	for _, e := range j.latest[l.position-j.oldest():] {
		l.position++
		events = append(events, numberedEvent{j.idAt(l.position), e})
	}
	return events, h.closed || j.ended
}

// signal marks that there is something to take.
func (l *subscriber) signal() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}
