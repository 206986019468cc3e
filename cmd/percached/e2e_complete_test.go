package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/percached/percached/api/client"
)

// completeScene types a sentence whose end a document contains. What was typed is forgotten when
// background work stores something, so the sentence may have to be typed again until it is reused.
func (w *world) completeScene(ctx context.Context) {
	const most = 10
	for n := 1; ; n++ {
		text := client.Typing{Before: "The budget for Heron", MaxTokens: new(6)}
		first, err := w.all.CompleteWithResponse(ctx, mail, text)
		w.is(200, first, err)
		if c := first.JSON200; len(c.Candidates) == 0 || len(c.Citations) == 0 {
			w.Errorf("%+v", c)
		}
		text.Before += " is"
		c, told := w.completeStream(ctx, text)
		if len(c.Candidates) == 0 || c.Candidates[0].Text != told {
			w.Errorf("%q: %+v", told, c)
		}
		if got := w.metric("percached_completions_total"); got != fmt.Sprint(2*n) {
			w.Errorf("%s completions in the metrics, want %d", got, 2*n)
		}
		if c.Tokens.Reused >= 10 && c.Tokens.Computed <= 5 {
			return
		}
		if n == most {
			w.Fatalf("what was typed is never reused: %+v", c.Tokens)
		}
	}
}

// completeStream returns a completion and the text of its tokens.
func (w *world) completeStream(ctx context.Context, text client.Typing) (client.Completion, string) {
	r, err := w.all.CompleteStream(ctx, mail, text)
	s := w.streamed(r, err, func() {})
	defer s.close()
	var told strings.Builder
	for {
		switch m := s.message(); m.Event {
		case "token":
			told.WriteString(as[client.Token](w, m).Text)
		case "done":
			return as[client.Completion](w, m), told.String()
		default:
			w.Fatalf("event %s: %s", m.Event, m.Data)
		}
	}
}
