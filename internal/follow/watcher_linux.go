package follow

import (
	"errors"
	"os"
	"syscall"

	"github.com/percached/percached/internal/base/fault"
)

// Watcher hears of changes in folders, but not in those below them.
type Watcher struct {
	events  *os.File
	changed chan struct{} // one signal for any number of changes
	blind   bool          // some folder could not be watched
	ended   chan struct{}
}

// NewWatcher makes a Watcher that watches nothing yet.
func NewWatcher() (*Watcher, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "follow.NewWatcher", "inotify: %w; raise fs.inotify.max_user_instances", err)
	}
	w := &Watcher{events: os.NewFile(uintptr(fd), "inotify"), changed: make(chan struct{}, 1), ended: make(chan struct{})}
	go w.read()
	return w, nil
}

// read signals that there were events. Which ones does not matter: the folders are compared.
func (w *Watcher) read() {
	defer close(w.ended)
	buffer := make([]byte, 64<<10)
	for {
		if _, err := w.events.Read(buffer); err != nil {
			return
		}
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
}

const changes = syscall.IN_CREATE | syscall.IN_DELETE | syscall.IN_MODIFY | syscall.IN_ATTRIB | syscall.IN_MOVED_FROM | syscall.IN_MOVED_TO |
	syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF | syscall.IN_ONLYDIR

// Folder watches a folder. Watching it again does nothing.
func (w *Watcher) Folder(path string) {
	conn, err := w.events.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { // it fails after Close only
		_, err := syscall.InotifyAddWatch(int(fd), path, changes)
		if err != nil && !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.EACCES) && !errors.Is(err, syscall.ENOTDIR) {
			w.blind = true
		}
	})
}

// Blind says that changes in some folder are found by looking only.
func (w *Watcher) Blind() bool { return w.blind }

// Close ends the Watcher.
func (w *Watcher) Close() error {
	err := w.events.Close()
	<-w.ended
	return err
}
