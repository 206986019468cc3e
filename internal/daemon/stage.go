package daemon

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
	loads := name == StageOpening || name == StageLoading
	if s.now.Stage == StageClosing || loads && (s.now.Ready || s.now.Stage == StageRestoring) {
		return
	}
	if s.now.Stage != name {
		s.log.Info(map[string]string{
			StageOpening: "opening the data folder", StageLoading: "loading the model", StageReady: "ready", StageRestoring: "restoring a backup", StageClosing: "closing",
		}[name])
	}
	s.now = api.Ready{Ready: name == StageReady, Stage: name, Progress: min(max(of1, 0), 1)}
}

func (s *stage) ready() api.Ready {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}
