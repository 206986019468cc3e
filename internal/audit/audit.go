package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// Record is one line of the log.
type Record struct {
	Time      time.Time `json:"time"`
	Operation string    `json:"operation"`         // an operationId of openapi.yaml, or token.create and the like
	Token     string    `json:"token,omitempty"`   // the token's ID
	Name      string    `json:"name,omitempty"`    // the token's name
	User      string    `json:"user,omitempty"`    // of the system, who ran a command
	Space     string    `json:"space,omitempty"`   // empty: all, or none
	Outcome   string    `json:"outcome"`           // done, or the name of a problem
	Status    int       `json:"status,omitempty"`  // of HTTP
	Request   string    `json:"request,omitempty"` // the request's ID
	Answer    string    `json:"answer,omitempty"`  // the outcome of a question
	IDs       IDs       `json:"ids,omitempty"`
	Counts    Counts    `json:"counts,omitempty"`
	Keys      []string  `json:"keys,omitempty"` // of the configuration
	// Sync waits until the record is on the disk.
	Sync bool `json:"-"`
}

// IDs are what an operation was about, by kind.
type IDs map[string]string

// Counts are what an operation added, removed or used.
type Counts map[string]int64

// User is the user of the system who runs this process, or empty if the system does not say.
func User() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// Log appends records to a file.
type Log struct {
	path string
	now  func() time.Time

	mu   sync.Mutex
	file *os.File
	torn bool  // the last line has no end
	err  error // of the first write that failed since Ready

	written atomic.Uint64  // records
	waiting sync.WaitGroup // writers that sync file, which stays open until then
	syncing sync.Mutex
	synced  uint64 // of written, under syncing
}

// Open opens the log, and creates its file if it is missing.
func Open(path string, now func() time.Time) (*Log, error) {
	l := &Log{path: path, now: now}
	if err := l.open(); err != nil {
		return nil, l.failed("open", err)
	}
	return l, nil
}

// Write appends a record with the present time.
func (l *Log) Write(r Record) error {
	l.mu.Lock()
	err := l.write(r)
	if err != nil {
		l.err = cmp.Or(l.err, err)
	}
	if err != nil || !r.Sync {
		l.mu.Unlock()
		return err
	}
	file, n := l.file, l.written.Load()
	l.waiting.Add(1)
	l.mu.Unlock()
	err = l.sync(file, n)
	l.waiting.Done()
	if err != nil {
		l.mu.Lock()
		l.err = cmp.Or(l.err, err)
		l.mu.Unlock()
	}
	return err
}

// sync waits until the first n records are on the disk. Records written meanwhile share the next
// sync.
func (l *Log) sync(file *os.File, n uint64) error {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if l.synced >= n {
		return nil
	}
	written := l.written.Load()
	if err := file.Sync(); err != nil {
		return l.failed("write", err)
	}
	l.synced = written
	return nil
}

// Ready says why a record could not be written. It returns nil if that has changed since; then
// the log says that records are missing.
func (l *Log) Ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		l.err = l.write(Record{Operation: "audit.resumed", Outcome: "done"})
		if l.err == nil {
			l.err = l.sync(l.file, l.written.Load())
		}
	}
	return l.err
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	l.waiting.Wait()
	err := l.file.Close()
	l.file = nil
	return err
}

func (l *Log) write(r Record) error {
	r.Time = l.now().UTC()
	line, err := json.Marshal(r)
	if err != nil {
		return l.failed("encode", err)
	}
	if err := l.follow(); err != nil {
		return l.failed("open", err)
	}
	line = append(line, '\n')
	if l.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := l.file.Write(line)
	if n > 0 {
		l.torn = n < len(line)
	}
	if err != nil {
		return l.failed("write", err)
	}
	l.written.Add(1)
	return nil
}

// follow opens the file anew if it was renamed or deleted.
func (l *Log) follow() error {
	if l.file != nil {
		at, err := os.Lstat(l.path)
		own, same := l.file.Stat()
		if err == nil && same == nil && os.SameFile(at, own) {
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		l.waiting.Wait()
		_ = l.file.Close()
		l.file = nil
	}
	return l.open()
}

func (l *Log) open() error {
	info, err := os.Lstat(l.path)
	if err == nil && !info.Mode().IsRegular() { // a link may lead root to a file of somebody else
		return errors.New("it is not a regular file")
	}
	const flags = os.O_APPEND | os.O_RDWR | durable.NoFollow
	f, err := os.OpenFile(l.path, flags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = create(l.path, flags)
		if errors.Is(err, fs.ErrExist) { // another process was faster
			f, err = os.OpenFile(l.path, flags, 0)
		}
	}
	if err != nil {
		if p, ok := errors.AsType[*fs.PathError](err); ok { // its text repeats the path
			err = p.Err
		}
		return err
	}
	l.file = f
	l.torn, err = endsTorn(f)
	return err
}

// create creates a file that the owner of its folder can use, and whose name stays after a crash.
func create(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err = durable.ChownToFolderOwner(f); err == nil {
		err = durable.Folder(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return f, nil
}

// endsTorn says whether the last line of a file has no end.
func endsTorn(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil && err != io.EOF {
		return false, err
	}
	return last[0] != '\n', nil
}

func (l *Log) failed(what string, err error) error {
	return fault.New(fault.Unavailable, "audit."+what, "cannot %s the audit log %s: %w; make it writable for the user that runs percached, or change the key audit-log", what, l.path, err)
}
