package pull

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

const opPart = "pull: part"

// state is what is known of a part; it lies beside it.
type state struct {
	Version  int    `json:"version"`
	Source   string `json:"source"`
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
	Size     int64  `json:"size"`             // of the whole file; negative: not known
	SHA256   string `json:"sha256,omitempty"` // that the hub said
	Kept     int64  `json:"kept"`             // bytes that are safe on the disk
}

// resumable: the server can be asked for the rest of just this file.
func (s state) resumable() bool { return s.ETag != "" || s.Modified != "" }

// part is a file that is not whole yet. It is locked: this process alone writes it.
type part struct {
	f    *os.File
	path string
	state
	at       int64 // bytes that came
	complete bool  // the server said that this is all
	done     bool  // it has its final name, or is gone
}

func (p *part) statePath() string { return p.path + ".json" }

// openPart opens what there is of a file, or begins it.
func openPart(path, source string) (*part, error) {
	f, err := openLocked(path)
	if err != nil {
		return nil, err
	}
	p := &part{f: f, path: path, state: state{Version: 1, Source: source, Size: -1}}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fault.New(fault.Unavailable, opPart, "%w", err)
	}
	var was state
	b, err := os.ReadFile(p.statePath())
	if err == nil && json.Unmarshal(b, &was) == nil && was.Version == 1 && was.Source == source &&
		was.resumable() && was.Kept >= 0 && was.Kept <= info.Size() {
		p.state, p.at = was, was.Kept
	}
	return p, nil
}

// openLocked opens the part and takes it for this process. Who held it before may
// have given it its final name meanwhile: then another one is begun.
func openLocked(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fault.New(fault.Unavailable, opPart, "%w", err)
		}
		switch took, err := lock(f, false); {
		case err != nil:
			f.Close()
			return nil, fault.New(fault.Unavailable, opPart, "%s cannot be locked: %w", path, err)
		case !took:
			f.Close()
			return nil, fault.New(fault.Conflict, opPart, "another process is fetching %s", strings.TrimSuffix(filepath.Base(path), ".part"))
		}
		own, err := f.Stat()
		if err == nil {
			if now, gone := os.Stat(path); gone == nil && os.SameFile(own, now) {
				return f, nil
			}
		}
		f.Close()
	}
}

// begin makes the part ready to take what comes behind what it holds.
func (p *part) begin() error {
	err := p.f.Truncate(p.at)
	if err == nil {
		_, err = p.f.Seek(p.at, io.SeekStart)
	}
	if err == nil {
		err = p.keep()
	}
	if err != nil {
		return writeFault(err)
	}
	return nil
}

// anew forgets what came.
func (p *part) anew() {
	p.at = 0
	p.state = state{Version: 1, Source: p.Source, Size: -1}
}

// header asks for the rest, if the file is still the one of which the part is.
func (p *part) header() http.Header {
	h := http.Header{}
	if p.at > 0 {
		h.Set("Range", "bytes="+itoa(p.at)+"-")
		h.Set("If-Range", p.ETag)
		if p.ETag == "" {
			h.Set("If-Range", p.Modified)
		}
	}
	return h
}

// keep makes what came safe on the disk and says so beside it.
func (p *part) keep() error {
	if err := p.f.Sync(); err != nil {
		return err
	}
	p.Kept = p.at
	b, err := json.Marshal(p.state)
	if err != nil {
		return err
	}
	return durable.Write(p.statePath(), append(b, '\n'))
}

// close leaves what can be gone on with, and nothing else.
func (p *part) close() error {
	var err error
	switch {
	case p.done:
	case p.at == 0 || !p.resumable():
		p.remove()
	default:
		err = p.keep()
	}
	return errors.Join(err, p.f.Close())
}

// remove deletes it while it is still held, so that nobody else's is hit.
func (p *part) remove() {
	p.done = true
	os.Remove(p.statePath())
	os.Remove(p.path)
}

// name gives the part its final name.
func (p *part) name(file string) error {
	err := p.f.Sync()
	if err == nil {
		err = os.Rename(p.path, file)
	}
	if err != nil {
		return writeFault(err)
	}
	p.done = true
	os.Remove(p.statePath())
	if err := durable.Folder(filepath.Dir(file)); err != nil {
		return writeFault(err)
	}
	return nil
}

// writeFault is what kept something from being written.
func writeFault(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fault.New(fault.Unavailable, opPart, "the disk is full: %w", err)
	}
	return fault.New(fault.Unavailable, opPart, "%w", err)
}
