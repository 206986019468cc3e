package api

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"
)

// Who has no token cannot take the slots of those who have one.
func TestOpenOperationsTakeNoSlot(t *testing.T) {
	inBubble(t, func(t *testing.T, serve func(*Server) pipes) {
		l := serve(newServer(t, Backend{
			About: func(context.Context, Nothing) (About, error) { return About{}, nil },
		}, func(o *Options) { o.MaxRequests = 1 }))
		for _, path := range []string{"/healthz", "/readyz", "/openapi.yaml"} {
			c := l.dial()
			defer c.Close()
			_, _ = io.WriteString(c, raw("GET "+path, "", "Authorization:", "Content-Length: 1")) // and never sends it
		}
		synctest.Wait()
		c := l.dial()
		defer c.Close()
		go io.WriteString(c, raw("GET /v1/about", ""))
		if a := response(t, c); a.StatusCode != 200 {
			t.Errorf("status %d: %s", a.StatusCode, a.text)
		}
	})
}

// A small body cannot take much memory: neither by many values, nor by many
// faults.
func TestManyValues(t *testing.T) {
	many := func(value string) string { return strings.Repeat(value+",", 300_000) + value }
	for _, tt := range []struct{ name, what, body string }{
		{"messages", chatPath, `{"model":"mail","messages":[` + many("{}") + `]}`},
		{"parts", chatPath, `{"model":"mail","messages":[{"role":"user","content":[` + many("{}") + `]}]}`},
		{"texts", "POST /v1/embeddings", `{"input":[` + many(`""`) + `]}`},
		{"unknown", "POST /v1/embeddings", `{"input":"a","x":[` + many("0") + `]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := exchangeRaw(t, testServer(t, Backend{}), raw(tt.what, tt.body))
			if a.StatusCode != 400 || a.name() != "bad_body" || len(a.text) > 4<<10 {
				t.Errorf("status %d: %.500s", a.StatusCode, a.text)
			}
		})
	}
	// As long a conversation as is taken at all is far below.
	turn := `{"role":"user","content":[{"type":"text","text":"when?"}]}`
	srv := testServer(t, Backend{Ask: func(_ context.Context, q Asked, _ Listener) (Answer, error) {
		return Answer{Answer: fmt.Sprint(len(q.Earlier))}, nil
	}})
	a := exchangeRaw(t, srv, raw(chatPath, `{"model":"mail","messages":[`+strings.Repeat(turn+",", 1000)+turn+`]}`))
	if a.StatusCode != 200 || !strings.Contains(a.text, `"content":"1000"`) {
		t.Errorf("status %d: %.500s", a.StatusCode, a.text)
	}
	var u unwanted
	for range 100 * maxWrong {
		u.no("/a", "wrong")
		u.refuse("/b", "unwanted")
	}
	if len(u.wrong) > maxWrong || len(u.refused) > maxWrong {
		t.Errorf("%d and %d faults are kept", len(u.wrong), len(u.refused))
	}
}

// Whoever sets no bound writes the largest number that there is.
func TestLargestLimits(t *testing.T) {
	srv := testServer(t, Backend{
		Ask: func(context.Context, Asked, Listener) (Answer, error) { return Answer{}, nil },
		Upload: func(_ context.Context, u Upload) (UploadStatus, error) {
			return UploadStatus{}, u.Each(func(_ string, body io.Reader) error {
				_, err := io.Copy(io.Discard, body)
				return err
			})
		},
	}, func(o *Options) { o.MaxBody, o.MaxUpload = math.MaxInt64, math.MaxInt64 })
	for what, body := range map[string]string{
		"POST /v1/spaces/mail/ask":              `{"question":"when?"}`,
		"POST /v1/spaces/mail/documents":        `{"documents":[{"text":"a"}]}`,
		"POST /v1/spaces/mail/documents?name=a": "",
	} {
		var headers []string
		if body == "" {
			body, headers = "text", []string{"Content-Type: text/plain"}
		}
		if resp, text := send(t, srv, what, body, headers...); resp.StatusCode >= 300 {
			t.Errorf("%s: status %d: %s", what, resp.StatusCode, text)
		}
	}
}
