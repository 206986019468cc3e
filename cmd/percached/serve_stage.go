package main

import (
	"log/slog"
	"sync"

	"github.com/percached/percached/api"
)

// stage is how far a daemon is.
type stage struct {
	log *slog.Logger

	mu  sync.Mutex
	now api.Ready
}

// at says how far it is. What is loaded is not loading any more, and what is
// closing closes.
func (s *stage) at(name string, of1 float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	loads := name == stageOpening || name == stageLoading
	if s.now.Stage == stageClosing || loads && (s.now.Ready || s.now.Stage == stageRestoring) {
		return
	}
	if s.now.Stage != name {
		s.log.Info(map[string]string{
			stageOpening: "opening the data folder", stageLoading: "loading the model", stageReady: "ready", stageRestoring: "restoring a backup", stageClosing: "closing",
		}[name])
	}
	s.now = api.Ready{Ready: name == stageReady, Stage: name, Progress: min(max(of1, 0), 1)}
}

func (s *stage) ready() api.Ready {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}
