package api

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// Successful reads are logged at DEBUG, because clients poll. Changes and failures are logged
// at INFO.
func TestLevelOfRequests(t *testing.T) {
	var log logs
	ready, logged := false, make(chan bool, 1)
	srv := testServer(t, Backend{
		About:  func(context.Context, Nothing) (About, error) { return About{}, nil },
		Device: func(context.Context, Device) (Idle, error) { return Idle{}, nil },
	}, func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.Observer.Request = func(string, int, time.Duration) { logged <- true }
		o.Ready = func() Ready { return Ready{Ready: ready, Stage: "loading"} }
	})
	for _, tc := range []struct {
		what, body string
		ready      bool
		status     int
		level      string
	}{
		{"GET /readyz", "", false, 503, "DEBUG"}, // whoever waits for it asks often
		{"GET /v1/about", "", false, 503, "INFO"},
		{"GET /readyz", "", true, 200, "DEBUG"},
		{"GET /healthz", "", true, 200, "DEBUG"},
		{"HEAD /healthz", "", true, 200, "DEBUG"},
		{"GET /v1/about", "", true, 200, "DEBUG"},
		{"GET /v1/nothing", "", true, 404, "DEBUG"},
		{"GET /v1/about?x=1", "", true, 400, "DEBUG"},
		{"POST /v1/idle/device", `{"charging":true}`, true, 200, "DEBUG"},
	} {
		ready = tc.ready
		log.mu.Lock()
		log.text.Reset()
		log.mu.Unlock()
		resp, _ := send(t, srv, tc.what, tc.body)
		<-logged
		if resp.StatusCode != tc.status || !strings.Contains(log.String(), "level="+tc.level+" msg=request") {
			t.Errorf("%s: status %d, logged %q", tc.what, resp.StatusCode, log.String())
		}
	}
}

// logs is the logged text.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logs) has(s string) bool { return bytes.Contains([]byte(l.String()), []byte(s)) }

func (l *logs) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
