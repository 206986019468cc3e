package audit

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/user"
	"sync"
	"time"

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
	err  error // of the last write
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
	defer l.mu.Unlock()
	l.err = l.write(r)
	return l.err
}

// Ready says why the last record could not be written. It returns nil if that has changed
// since; then the log says that records are missing.
func (l *Log) Ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		l.err = l.write(Record{Operation: "audit.resumed", Outcome: "done", Sync: true})
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
	if err == nil && r.Sync {
		err = l.file.Sync()
	}
	if err != nil {
		return l.failed("write", err)
	}
	return nil
}

// follow opens the file anew if it was renamed or deleted.
func (l *Log) follow() error {
	if l.file != nil {
		at, err := os.Stat(l.path)
		own, same := l.file.Stat()
		if err == nil && same == nil && os.SameFile(at, own) {
			return nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		_ = l.file.Close() // each synced line is on the disk
		l.file = nil
	}
	return l.open()
}

func (l *Log) open() error {
	info, err := os.Stat(l.path)
	if err == nil && !info.Mode().IsRegular() { // a pipe would block
		return errors.New("it is not a regular file")
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
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
