package pull

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

const (
	opPart    = "pull: part"
	safeEvery = 64 << 20 // bytes after which the part is made safe on disk
)

// state is what is known of a part. It is stored beside the part.
type state struct {
	Version  int    `json:"version"`
	Source   string `json:"source"`
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
	Size     int64  `json:"size"`             // of the whole file; negative: unknown
	SHA256   string `json:"sha256,omitempty"` // that the hub said
	Kept     int64  `json:"kept"`             // bytes that are safe on disk
}

// resumable: the server can be asked for the rest of this very file.
func (s state) resumable() bool { return s.ETag != "" || s.Modified != "" }

// part is an incomplete file.
type part struct {
	f    *os.File
	path string
	state
	at       int64 // bytes so far
	complete bool  // the server said that this is all
	done     bool  // it has its final name, or is gone
}

// openPart opens the part of a file, or starts one.
func openPart(path, source string) (*part, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, writeFault(err)
	}
	p := &part{f: f, path: path, state: state{Version: 1, Source: source, Size: -1}}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, writeFault(err)
	}
	var was state
	b, err := os.ReadFile(path + ".json")
	if err == nil && json.Unmarshal(b, &was) == nil && was.Version == 1 && was.Source == source &&
		was.resumable() && was.Kept >= 0 && was.Kept <= info.Size() {
		p.state, p.at = was, was.Kept
	}
	return p, nil
}

// begin prepares the part for the bytes behind those it has.
func (p *part) begin() error {
	if err := p.f.Truncate(p.at); err != nil {
		return err
	}
	if _, err := p.f.Seek(p.at, io.SeekStart); err != nil {
		return err
	}
	return p.keep()
}

func (p *part) write(b []byte) error {
	n, err := p.f.Write(b)
	p.at += int64(n)
	if err == nil && p.at-p.Kept >= safeEvery {
		err = p.keep()
	}
	return err
}

// restart forgets what was fetched.
func (p *part) restart(by *Puller) {
	if p.at > 0 {
		by.o.Observer.Anew()
	}
	p.at = 0
	p.state = state{Version: 1, Source: p.Source, Size: -1}
}

// header asks for the rest if the server's file is still the same.
func (p *part) header() http.Header {
	if p.at == 0 {
		return nil
	}
	same := p.ETag
	if same == "" {
		same = p.Modified
	}
	return http.Header{"Range": {"bytes=" + strconv.FormatInt(p.at, 10) + "-"}, "If-Range": {same}}
}

// learn reads what the server says of a file that comes from its beginning.
func (p *part) learn(r *reply) error {
	p.Size, p.SHA256 = r.ContentLength, r.sha256
	if r.size >= 0 && p.Size >= 0 && p.Size != r.size {
		return fault.New(fault.Invalid, opPart, "the hub says that the file has %d bytes, and %s sends %d", r.size, r.Request.URL.Host, p.Size)
	}
	if r.size >= 0 {
		p.Size = r.size
	}
	p.ETag, p.Modified = r.Header.Get("ETag"), r.Header.Get("Last-Modified")
	if strings.HasPrefix(p.ETag, "W/") { // too weak to continue by
		p.ETag = ""
	}
	return nil
}

// continues says whether a partial response is the rest of this file. A server may
// ignore If-Range.
func (p *part) continues(r *reply) bool {
	var from int64
	_, err := fmt.Sscanf(r.Header.Get("Content-Range"), "bytes %d-", &from)
	tag := r.Header.Get("ETag")
	return err == nil && from == p.at && p.at > 0 && (p.ETag == "" || tag == "" || p.ETag == tag)
}

// keep makes what was fetched safe on disk.
func (p *part) keep() error {
	if err := p.f.Sync(); err != nil {
		return err
	}
	p.Kept = p.at
	b, err := json.Marshal(p.state)
	if err != nil {
		return err
	}
	return durable.Write(p.path+".json", append(b, '\n'))
}

// close keeps what the next call can continue, and nothing else.
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

// remove deletes the part.
func (p *part) remove() {
	p.done = true
	os.Remove(p.path + ".json")
	os.Remove(p.path)
}

// rename gives the part its final name.
func (p *part) rename(file string) error {
	if err := p.f.Sync(); err != nil {
		return writeFault(err)
	}
	if err := os.Rename(p.path, file); err != nil {
		return writeFault(err)
	}
	p.done = true
	os.Remove(p.path + ".json")
	if err := durable.Folder(filepath.Dir(file)); err != nil {
		return writeFault(err)
	}
	return nil
}

func writeFault(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fault.New(fault.Unavailable, opPart, "the disk is full: %w", err)
	}
	return fault.New(fault.Unavailable, opPart, "%w", err)
}
