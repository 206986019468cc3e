package main

import (
	"context"
	"strings"

	"github.com/percached/percached/api/client"
)

// completeScene types a sentence whose end a document contains.
func (w *world) completeScene(ctx context.Context) {
	text := client.Typing{Before: "The budget for Heron", MaxTokens: new(6)}
	first, err := w.all.CompleteWithResponse(ctx, mail, text)
	w.is(200, first, err)
	c := first.JSON200
	if len(c.Candidates) == 0 || len(c.Citations) == 0 || c.Tokens.Reused != 0 {
		w.Errorf("%+v", c)
	}
	text.Before += " is"
	r, err := w.all.CompleteStream(ctx, mail, text)
	s := w.streamed(r, err, func() {})
	defer s.close()
	var told strings.Builder
	for done := false; !done; {
		switch m := s.message(); m.Event {
		case "token":
			told.WriteString(as[client.Token](w, m).Text)
		case "done":
			c := as[client.Completion](w, m)
			if len(c.Candidates) == 0 || c.Candidates[0].Text != told.String() || c.Tokens.Reused < 10 || c.Tokens.Computed > 5 {
				w.Errorf("%q: %+v", told.String(), c)
			}
			done = true
		default:
			w.Fatalf("event %s: %s", m.Event, m.Data)
		}
	}
	if n := w.metric("percached_completions_total"); n != "2" {
		w.Errorf("%s completions in the metrics", n)
	}
}
