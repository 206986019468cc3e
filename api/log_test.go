package api

import (
	"bytes"
	"log/slog"
	"sync"
)

// logs is what was logged, as text.
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

func (l *logs) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(l, nil)) }
