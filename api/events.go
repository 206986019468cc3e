package api

import (
	"net/http"
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
	l := s.Hub.listen(grant)
	defer s.Hub.leave(l)
	out := newStream(w, r)
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
			events, missed, ended = s.Hub.hear(l)
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
