package client

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The client asks, reads a streamed answer, and returns problems as errors.
func TestClient(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Header.Get("Authorization") != "Bearer pc_secret":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"type":"urn:percached:problem:unauthorized","title":"A token is needed","status":401,"instance":"i","fix":"f",
				"detail":"header:Authorization is not there. f","errors":[{"field":"header:Authorization","detail":"is not there"}]}`)
		case r.URL.Path != "/v1/spaces/mail/ask" || string(body) != `{"question":"When?"}`:
			t.Errorf("%s %s", r.URL.Path, body)
		case r.Header.Get("Accept") == "text/event-stream":
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, ":\n\nevent: token\ndata: {\"text\":\"At\"}\n\nevent: token\ndata: {\"text\":\" ten.\"}\n\n")
		default:
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"answer":"At ten.","outcome":"miss","citations":[],"gate":{"why":"w"},"times":{"total_ms":1.5}}`)
		}
	}))
	defer srv.Close()
	c, err := NewClientWithResponses(srv.URL, WithToken("pc_secret"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.AskWithResponse(t.Context(), "mail", Question{Question: "When?"})
	if err != nil {
		t.Fatal(err)
	}
	if err := Failed(got.StatusCode(), got.Body); err != nil {
		t.Fatal(err)
	}
	if a := got.JSON200; a == nil || a.Answer != "At ten." || a.Outcome != OutcomeMiss || a.Times["total_ms"] != 1.5 {
		t.Errorf("%+v", a)
	}

	resp, err := c.Ask(t.Context(), "mail", Question{Question: "When?"}, AsEvents)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var told []string
	for m, err := range Messages(resp.Body) {
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, m.Event+string(m.Data))
	}
	if diff := cmp.Diff([]string{`token{"text":"At"}`, `token{"text":" ten."}`}, told); diff != "" {
		t.Error(diff)
	}

	stranger, err := NewClientWithResponses(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	got, err = stranger.AskWithResponse(t.Context(), "mail", Question{Question: "When?"})
	if err != nil {
		t.Fatal(err)
	}
	var p *ProblemError
	if err := Failed(got.StatusCode(), got.Body); !errors.As(err, &p) || p.Problem.Type != ProblemTypeUnauthorized ||
		err.Error() != "401 A token is needed: header:Authorization is not there" {
		t.Errorf("%v", err)
	}
	if got.ApplicationProblemJSONDefault == nil || got.JSON200 != nil {
		t.Error("the client did not read the problem")
	}
	stranger, err = NewClientWithResponses(srv.URL, WithHTTPClient(srv.Client()), WithProblems())
	if err != nil {
		t.Fatal(err)
	}
	p = nil
	if got, err := stranger.AskWithResponse(t.Context(), "mail", Question{Question: "When?"}); got != nil || !errors.As(err, &p) || p.Problem.Type != ProblemTypeUnauthorized {
		t.Errorf("%v %v", got, err)
	}
	if err := Failed(502, []byte("Bad gateway")); err == nil || errors.As(err, &p) && p.Problem.Status == 502 {
		t.Errorf("%v", err)
	}
}

func TestMessages(t *testing.T) {
	tests := []struct {
		name, stream string
		want         []Message
		err          error
	}{
		{"nothing", "", nil, nil},
		{"comments alone", ":\n\n: x\n\n", nil, nil},
		{"one", "event: a\ndata: {}\n\n", []Message{{Event: "a", Data: []byte("{}")}}, nil},
		{"no space", "event:a\ndata:{}\n\n", []Message{{Event: "a", Data: []byte("{}")}}, nil},
		{"returns", "event: a\r\ndata: {}\r\n\r\n", []Message{{Event: "a", Data: []byte("{}")}}, nil},
		{"no name", "data: [DONE]\n\n", []Message{{Event: "message", Data: []byte("[DONE]")}}, nil},
		{"no data", "event: a\n\ndata: 1\n\n", []Message{{Event: "message", Data: []byte("1")}}, nil},
		{"empty data", "data:\n\n", []Message{{Event: "message", Data: []byte{}}}, nil},
		{"two lines", "data: 1\ndata: 2\n\n", []Message{{Event: "message", Data: []byte("1\n2")}}, nil},
		{"unknown fields", "retry: 1\ndata: 1\n\n", []Message{{Event: "message", Data: []byte("1")}}, nil},
		{"ids", "id: 6\n\nid: 7\ndata: 1\n\ndata: 2\n\n", []Message{{ID: "7", Event: "message", Data: []byte("1")}, {Event: "message", Data: []byte("2")}}, nil},
		{"cut off", "data: 1\n\nevent: a\ndata: {", []Message{{Event: "message", Data: []byte("1")}}, io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []Message
			var err error
			for m, e := range Messages(strings.NewReader(tt.stream)) {
				if err = e; e == nil {
					got = append(got, m)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, tt.err) {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// Messages returns what a writer of events sends, whatever the data contains.
func FuzzMessages(f *testing.F) {
	for _, s := range []string{"", ":\n\n", "event: a\ndata: {}\n\n", "data: 1\r\ndata:2\r\n\r\ndata", "data\n\n", "event\n\n\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		n := 0
		for m, err := range Messages(bytes.NewReader(stream)) {
			if err == nil && (m.Event == "" && !bytes.Contains(stream, []byte("event")) || m.Data == nil) {
				t.Errorf("%+v", m)
			}
			n += len(m.Data)
		}
		if n > len(stream) {
			t.Errorf("%d bytes from %d", n, len(stream))
		}
	})
}
