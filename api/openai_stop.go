package api

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maxStops is how many texts may end an answer, as with OpenAI.
const maxStops = 4

// chatStops are the texts before which an answer ends: a string, or a list of them. The answer
// itself is made and stored whole; only the reply ends there.
type chatStops []string

// stops reads the field stop.
func (u *chatFaults) stops(raw json.RawMessage) (stops chatStops) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		stops = chatStops{one}
	} else if json.Unmarshal(raw, &stops) != nil {
		u.invalid("/stop", "must be a string or an array of strings")
		return nil
	}
	if len(stops) > maxStops {
		u.invalid("/stop", "must have at most %d texts", maxStops)
	}
	for _, s := range stops {
		if s == "" {
			u.invalid("/stop", "must not contain an empty text")
		}
	}
	return stops
}

// cut returns the text before the stop that is complete first, and whether there is one. More text
// does not change what it returns.
func (stops chatStops) cut(text string) (string, bool) {
	begin, end := len(text), len(text)+1
	for _, s := range stops {
		if at := strings.Index(text, s); at >= 0 && (at+len(s) < end || at+len(s) == end && at < begin) {
			begin, end = at, at+len(s)
		}
	}
	return text[:begin], end <= len(text)
}

// ready returns how much of a text that goes on can be sent: a stop may begin in the rest.
func (stops chatStops) ready(text string) string {
	text, found := stops.cut(text)
	if found {
		return text
	}
	end := len(text)
	for _, s := range stops {
		for n := min(len(s)-1, len(text)); n > 0; n-- {
			if strings.HasSuffix(text, s[:n]) {
				end = min(end, len(text)-n)
				break
			}
		}
	}
	return text[:end]
}
