package api

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
)

const completeMail = "POST /v1/spaces/mail/complete"

// A text reaches the backend completely. The candidates come back as JSON, or as events with
// the same content.
func TestComplete(t *testing.T) {
	want := TypingRequest{Space: "mail", Before: "We meet ", After: " then", Alternatives: 3, MaxTokens: 12}
	done := Completion{Candidates: []Candidate{{Text: "on Monday", LogProb: -2, FirstToken: -1}}, Citations: []Citation{{About: "mail"}}}
	srv := testServer(t, Backend{Complete: func(_ context.Context, got TypingRequest, emit func(string) error) (Completion, error) {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
		for _, piece := range []string{"on", " Monday"} {
			if emit == nil {
				break
			}
			if err := emit(piece); err != nil {
				return Completion{}, err
			}
		}
		return done, nil
	}})
	const body = `{"before":"We meet ","after":" then"}`
	resp, plain := send(t, srv, completeMail, body)
	if resp.StatusCode != http.StatusOK || !strings.Contains(plain, `"text":"on Monday"`) {
		t.Errorf("%d: %s", resp.StatusCode, plain)
	}
	_, text := send(t, srv, completeMail, body, events)
	if diff := cmp.Diff([]event{
		{"token", `{"text":"on"}`}, {"token", `{"text":" Monday"}`}, {"done", strings.TrimSpace(plain)},
	}, allEvents(t, text), cmp.AllowUnexported(event{})); diff != "" {
		t.Error(diff)
	}
}

// What is wrong with a text is named, and does not reach the backend.
func TestCompleteWrong(t *testing.T) {
	srv := testServer(t, Backend{Complete: func(context.Context, TypingRequest, func(string) error) (Completion, error) {
		t.Error("the backend was asked")
		return Completion{}, nil
	}})
	for body, field := range map[string]string{
		`{}`:               "/before",
		`{"before":" \n"}`: "/before",
		`{"before":"` + strings.Repeat("x", maxBefore+1) + `"}`:            "/before",
		`{"before":"x","after":"` + strings.Repeat("x", maxAfter+1) + `"}`: "/after",
		`{"before":"x","alternatives":0}`:                                  "/alternatives",
		`{"before":"x","alternatives":9}`:                                  "/alternatives",
		`{"before":"x","max_tokens":33}`:                                   "/max_tokens",
		`{"before":"x","stream":true}`:                                     "/stream",
	} {
		resp, text := send(t, srv, completeMail, body)
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, `"`+field+`"`) {
			t.Errorf("%.40s: %d: %s, want 400 for %s", body, resp.StatusCode, text, field)
		}
	}
}

// A request that a newer one replaced gets a conflict, streaming or not.
func TestCompleteReplaced(t *testing.T) {
	srv := testServer(t, Backend{Complete: func(context.Context, TypingRequest, func(string) error) (Completion, error) {
		return Completion{}, fault.New(fault.Conflict, "answer", "a newer request replaced this one")
	}})
	for _, accept := range []string{"Accept: */*", events} {
		if resp, text := send(t, srv, completeMail, `{"before":"x"}`, accept); resp.StatusCode != http.StatusConflict {
			t.Errorf("%s: %d: %s", accept, resp.StatusCode, text)
		}
	}
}
