package api

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

const eventsType = "text/event-stream"

// wantsEvents says whether the client would rather have a stream of events than
// JSON. Who does not say gets JSON.
func wantsEvents(r *http.Request) (bool, error) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if strings.TrimSpace(accept) == "" {
		return false, nil
	}
	whole, events := quality(accept, jsonType), quality(accept, eventsType)
	if whole == 0 && events == 0 {
		return false, refuse(problemNotAcceptable, "")
	}
	return events > whole, nil
}

// quality is how much an Accept header wants a type, 0 to 1. The range that fits
// best counts: the type, then its class, then all.
func quality(accept, kind string) float64 {
	class, _, _ := strings.Cut(kind, "/")
	best, at := 0.0, 0
	for part := range strings.SplitSeq(accept, ",") {
		got, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		fit := 0
		switch got {
		case kind:
			fit = 3
		case class + "/*":
			fit = 2
		case "*/*":
			fit = 1
		}
		q := 1.0
		if s, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(s, 64); err != nil || !(0 <= q && q <= 1) {
				continue
			}
		}
		if fit > at || fit == at && fit > 0 && q > best {
			best, at = q, fit
		}
	}
	return best
}
