package api

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// Each question is reported with its times and headers, and with why it failed.
func TestAskedIsReported(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var mu sync.Mutex
	var fails error
	var got []AskedQuestion
	srv := testServer(t, Backend{Ask: func(context.Context, AskRequest, Listener) (Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return Answer{Outcome: "miss", Times: map[string]float64{"prefill_ms": 7}}, fails
	}}, func(o *Options) {
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
		o.Observer.Asked = func(q AskedQuestion) { got = append(got, q) }
	})
	// A token of one space sees no stages of its answer; the report has them.
	send(t, srv, "POST /v1/spaces/mail/ask", `{"question":"?"}`, "Traceparent: p", "Authorization: Bearer "+mailAskToken)
	fails = fault.New(fault.Overloaded, "test", "busy")
	send(t, srv, "POST /v1/chat/completions", `{"model":"mail","messages":[{"role":"user","content":"?"}]}`, "X-Request-Id: r2")
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	if q := got[0]; q.Operation != "ask" || q.Failure != "" || q.Answer.Times["prefill_ms"] != 7 || q.Ended.Sub(q.Began) != time.Second || q.Header.Get("Traceparent") != "p" {
		t.Errorf("%+v", q)
	}
	if q := got[1]; q.Operation != "createChatCompletion" || q.Failure != "overloaded" || q.Request != "r2" {
		t.Errorf("%+v", q)
	}
}
