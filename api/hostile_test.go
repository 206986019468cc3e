package api

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/hostile"
)

// Each bad request gets its response, none reaches the backend, and the server answers the next
// good request.
func TestHostile(t *testing.T) {
	var calls atomic.Int64
	srv := testServer(t, Backend{Space: func(_ context.Context, in InSpace) (Space, error) {
		calls.Add(1)
		return Space{Name: in.Space}, nil
	}}, func(o *Options) { o.MaxBody = hostile.MaxBody })
	for i, tt := range hostile.Requests(hostile.Tokens{All: adminToken, Write: writeToken, MailAdmin: mailAdminToken, MailAsk: mailAskToken}) {
		t.Run(tt.Name, func(t *testing.T) {
			a := exchangeRaw(t, srv, tt.Text)
			type seen struct {
				Status  int
				Problem string
			}
			if diff := cmp.Diff(seen{tt.Status, tt.Problem}, seen{a.StatusCode, a.name()}); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, a.text)
			}
			if tt.Problem != "" && a.Header.Get("Content-Security-Policy") == "" {
				t.Error("the answer lacks the headers that every answer has")
			}
			good := exchangeRaw(t, srv, raw("GET /v1/spaces/mail", ""))
			if good.StatusCode != 200 || calls.Load() != int64(i+1) {
				t.Errorf("a good request behind it: %d, and %d calls of %d", good.StatusCode, calls.Load(), i+1)
			}
		})
	}
}
