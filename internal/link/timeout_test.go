package link_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/link"
)

// stopped is a link to a daemon that accepts connections and does not respond, or responds
// partly, as a stopped process does.
func stopped(t *testing.T, begins bool) *link.Link {
	t.Helper()
	end := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if begins {
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte("{"))
			w.(http.Flusher).Flush()
		}
		<-end
	}))
	way := &http.Transport{}
	t.Cleanup(func() {
		close(end)
		way.CloseIdleConnections()
		s.Close()
	})
	l, err := link.New(s.URL, "secret", way)
	if err != nil {
		t.Fatal(err)
	}
	l.Daemon, l.Timeout = s.URL, 20*time.Millisecond
	return l
}

// A short request to a stopped daemon times out, and the error says what to do.
func TestStoppedDaemon(t *testing.T) {
	for _, begins := range []bool{false, true} {
		l := stopped(t, begins)
		ctx := t.Context()
		for name, call := range map[string]func() error{
			"ready":  func() error { return l.Ready(ctx, io.Discard) },
			"status": func() error { _, err := l.GetStatusWithResponse(ctx); return err },
			"about":  func() error { _, err := l.AboutWithResponse(ctx); return err },
			"list":   func() error { _, err := l.ListSpacesWithResponse(ctx); return err },
			"change": func() error {
				_, err := l.ChangeConfigWithResponse(ctx, client.ConfigChange{"k": "3"})
				return err
			},
		} {
			err := call()
			if fault.KindOf(err) != fault.Timeout || !strings.Contains(err.Error(), l.Daemon+" within 20ms") {
				t.Errorf("%s, begins %v: %v", name, begins, err)
			}
		}
	}
}

// Questions, uploads, exports and events have no deadline. They end with their context.
func TestNoDeadline(t *testing.T) {
	l := stopped(t, false)
	for name, call := range map[string]func(ctx context.Context) error{
		"ask": func(ctx context.Context) error {
			_, err := l.AskWithResponse(ctx, "mail", client.Question{Question: "When?"})
			return err
		},
		"upload": func(ctx context.Context) error {
			_, err := l.UploadWithBodyWithResponse(ctx, "mail", nil, "application/json", bytes.NewReader(nil))
			return err
		},
		"export": func(ctx context.Context) error { _, err := l.ExportEntries(ctx, "mail"); return err },
		"events": func(ctx context.Context) error { _, err := l.Events(ctx, nil, client.AsEvents); return err },
		"drain": func(ctx context.Context) error {
			_, err := l.DrainIdleWithResponse(ctx, nil)
			return err
		},
	} {
		ctx, leave := context.WithTimeout(t.Context(), 5*l.Timeout)
		if err := call(ctx); err != context.DeadlineExceeded {
			t.Errorf("%s: %v", name, err)
		}
		leave()
	}
	l.Daemon = "" // this process
	ctx, leave := context.WithTimeout(t.Context(), 5*l.Timeout)
	defer leave()
	if _, err := l.GetStatusWithResponse(ctx); err != context.DeadlineExceeded {
		t.Error(err)
	}
}
