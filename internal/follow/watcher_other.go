//go:build !linux

package follow

// Watcher does not hear of changes on this system, so the folders are compared again and again.
type Watcher struct {
	changed chan struct{}
	blind   bool
}

// NewWatcher makes a Watcher.
func NewWatcher() (*Watcher, error) { return &Watcher{blind: true}, nil }

// Folder does nothing.
func (w *Watcher) Folder(string) {}

// Blind says that changes are found by looking only.
func (w *Watcher) Blind() bool { return w.blind }

// Close ends the Watcher.
func (w *Watcher) Close() error { return nil }
