package api

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// quotas records what is booked, and refuses a use above its limit.
type quotas struct {
	mu     sync.Mutex
	booked map[string]int64 // by token and use
	limits map[QuotaUse]int64
}

func (q *quotas) take(token string, use QuotaUse, n int64) *QuotaRefusal {
	q.mu.Lock()
	defer q.mu.Unlock()
	key := fmt.Sprint(token, use)
	if limit, ok := q.limits[use]; ok && q.booked[key]+n > limit {
		return &QuotaRefusal{Limit: "so much", After: 90*time.Minute - time.Millisecond}
	}
	q.booked[key] += n
	return nil
}

// Each request is booked for its token: questions and chats as such, uploads with their bytes.
func TestQuotaBooks(t *testing.T) {
	q := &quotas{booked: map[string]int64{}}
	srv := testServer(t, Backend{
		Ask:       func(context.Context, AskRequest, Listener) (Answer, error) { return Answer{}, nil },
		Documents: func(context.Context, DocumentPage) (Documents, error) { return Documents{}, nil },
		Upload: func(_ context.Context, u Upload) (UploadStatus, error) {
			return UploadStatus{}, u.Each(func(_ string, body io.Reader) error { _, err := io.Copy(io.Discard, body); return err })
		},
	}, func(o *Options) { o.Quota = q.take })
	for _, what := range []string{"POST /v1/spaces/mail/ask", "POST /v1/spaces/mail/ask/stream"} {
		send(t, srv, what, `{"question":"?"}`)
	}
	send(t, srv, "POST /v1/chat/completions", `{"model":"mail","messages":[{"role":"user","content":"?"}]}`)
	send(t, srv, "GET /v1/spaces/mail/documents", "")
	send(t, srv, "GET /v1/spaces/mail/documents", "", "Authorization: Bearer "+mailAskToken)
	send(t, srv, "GET /healthz", "")
	send(t, srv, "POST /v1/spaces/mail/documents?name=a.txt", strings.Repeat("x", 100), "Content-Type: text/plain")
	chunked, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+"/v1/spaces/mail/documents?name=a.txt", io.MultiReader(strings.NewReader(strings.Repeat("x", 50))))
	if err != nil {
		t.Fatal(err)
	}
	chunked.Header.Set("Authorization", "Bearer "+adminToken)
	chunked.Header.Set("Content-Type", "text/plain")
	resp, err := srv.Client().Do(chunked)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	want := map[string]int64{"admin0": 6, "admin1": 3, "admin2": 150, "mail-ask0": 1}
	if d := cmp.Diff(want, q.booked); d != "" {
		t.Error(d)
	}
}

// Bytes that never came do not count, nor those of a body that was not read.
func TestQuotaOfBrokenUpload(t *testing.T) {
	q := &quotas{booked: map[string]int64{}, limits: map[QuotaUse]int64{UseUpload: 1000}}
	ended := make(chan struct{})
	api := newServer(t, Backend{Upload: func(_ context.Context, u Upload) (UploadStatus, error) {
		return UploadStatus{}, u.Each(func(_ string, body io.Reader) error { _, err := io.Copy(io.Discard, body); return err })
	}}, func(o *Options) { o.Quota = q.take })
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			_ = recover() // the server cuts the connection
			ended <- struct{}{}
		}()
		api.ServeHTTP(w, r)
	}))
	defer srv.Close()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, raw("POST /v1/spaces/mail/documents?name=a.txt", "four", "Content-Type: text/plain", "Content-Length: 1000")); err != nil {
		t.Fatal(err)
	}
	c.Close()
	<-ended
	if got := q.booked["admin2"]; got != 4 {
		t.Error(got)
	}
}

// What is above a quota gets 429 with the time to wait, and does not reach the backend.
func TestQuotaRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		use     QuotaUse
		limit   int64
		request string
	}{
		"request": {UseRequest, 0, raw("GET /v1/spaces/mail/documents", "")},
		"ask":     {UseAsk, 0, raw("POST /v1/spaces/mail/ask", `{"question":"?"}`)},
		"chat":    {UseAsk, 0, raw("POST /v1/chat/completions", `{"model":"mail","messages":[{"role":"user","content":"?"}]}`)},
		"upload":  {UseUpload, 3, raw("POST /v1/spaces/mail/documents?name=a.txt", "four", "Content-Type: text/plain")},
	} {
		t.Run(name, func(t *testing.T) {
			q := &quotas{booked: map[string]int64{}, limits: map[QuotaUse]int64{tc.use: tc.limit}}
			srv := testServer(t, Backend{}, func(o *Options) { o.Quota = q.take })
			a := exchangeRaw(t, srv, tc.request)
			if a.StatusCode != http.StatusTooManyRequests || a.name() != "quota_exceeded" || a.Header.Get("Retry-After") != "5400" || !strings.Contains(a.text, "so much") {
				t.Errorf("status %d, %v: %s", a.StatusCode, a.Header, a.text)
			}
		})
	}
}

// A request that the token may not send counts, too: it is in the audit log.
func TestQuotaBooksRefused(t *testing.T) {
	q := &quotas{booked: map[string]int64{}}
	srv := testServer(t, Backend{}, func(o *Options) { o.Quota = q.take })
	resp, _ := send(t, srv, "DELETE /v1/spaces/mail", "", "Authorization: Bearer "+mailAskToken)
	if resp.StatusCode != http.StatusForbidden || q.booked["mail-ask0"] != 1 {
		t.Error(resp.StatusCode, q.booked)
	}
}

// A body of unknown length is cut at the quota.
func TestQuotaCutsBody(t *testing.T) {
	q := &quotas{booked: map[string]int64{}, limits: map[QuotaUse]int64{UseUpload: 10}}
	srv := testServer(t, Backend{Upload: func(_ context.Context, u Upload) (UploadStatus, error) {
		return UploadStatus{}, u.Each(func(_ string, body io.Reader) error { _, err := io.Copy(io.Discard, body); return err })
	}}, func(o *Options) { o.Quota = q.take })
	a := exchangeRaw(t, srv, "POST /v1/spaces/mail/documents?name=a.txt HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+adminToken+
		"\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n14\r\n"+strings.Repeat("x", 20)+"\r\n0\r\n\r\n")
	if a.StatusCode != http.StatusTooManyRequests || a.name() != "quota_exceeded" {
		t.Errorf("status %d: %s", a.StatusCode, a.text)
	}
}
