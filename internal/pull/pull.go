package pull

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

const opPull = "pull: pull"

// Observer hears how it goes; what is nil hears nothing.
type Observer struct {
	Fetched func(done, total int64)             // total negative: not known
	Checked func(done, total int64)             // bytes of which the hash was taken
	Cut     func(cause error, at time.Duration) // it is tried again after a while
	Anew    func()                              // what had come before is of another file
}

// Options say where models lie and where they come from.
type Options struct {
	Dir   string // the folder of models; it is made if need be
	Hub   string // address of the hub; empty: DefaultHub
	Token string // of the hub
	// Check says why a file that came whole is no use.
	Check    func(ctx context.Context, path string) error
	Observer Observer
	Now      func() time.Time
}

// Puller fetches models.
type Puller struct {
	dir       string
	hub       *url.URL
	token     string
	check     func(ctx context.Context, path string) error
	observer  Observer
	now       func() time.Time
	transport *http.Transport

	stall time.Duration                                    // without a byte, after which a connection is taken for cut
	wait  func(ctx context.Context, d time.Duration) error // between attempts
	free  func(dir string) (n int64, known bool)
}

// New makes a Puller. Nothing is fetched, and no folder made, before Pull.
func New(o Options) (*Puller, error) {
	hub, err := url.Parse(cmp.Or(o.Hub, DefaultHub))
	if err != nil || hub.Host == "" || hub.Scheme != "https" && hub.Scheme != "http" || hub.User != nil || hub.RawQuery != "" {
		return nil, fault.New(fault.Invalid, "pull: new", "the address of the hub (HF_ENDPOINT) must be as %s is", DefaultHub)
	}
	p := &Puller{
		dir: o.Dir, hub: hub, token: strings.TrimSpace(o.Token), check: o.Check, observer: o.Observer, now: o.Now,
		stall: time.Minute, wait: wait, free: durable.Free,
		transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableCompression: true, ForceAttemptHTTP2: true,
			DialContext:         (&net.Dialer{Timeout: 20 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout: 20 * time.Second, IdleConnTimeout: time.Minute,
		},
	}
	hear := func(f *func(int64, int64)) {
		if *f == nil {
			*f = func(int64, int64) {}
		}
	}
	hear(&p.observer.Fetched)
	hear(&p.observer.Checked)
	if p.observer.Cut == nil {
		p.observer.Cut = func(error, time.Duration) {}
	}
	if p.observer.Anew == nil {
		p.observer.Anew = func() {}
	}
	return p, nil
}

// Close lets go of connections.
func (p *Puller) Close() error {
	p.transport.CloseIdleConnections()
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// Want is what the caller wants otherwise than usual.
type Want struct {
	Name   string // of the model; empty: the source's
	To     string // a file elsewhere; then it has no name
	SHA256 string // hash that the file must have
}

// By is whose word the hash of a file rests on.
type By string

// Whose word it can be, best first.
const (
	ByCaller By = "caller" // named in this call
	ByNote   By = "note"   // noted when the source was fetched before
	ByHub    By = "hub"    // the hub that the file comes from
	ByNobody By = "nobody" // it was taken of what came
)

// Result is a file that is there.
type Result struct {
	Name      string
	File      string
	Bytes     int64
	SHA256    string
	By        By
	Confirmed bool  // somebody named the hash, now or before
	Fetched   int64 // bytes that came now; 0: the file was there
	Kept      int64 // after a failure: bytes from which the same call goes on
}

// Pull fetches a file, or finds that it is there.
func (p *Puller) Pull(ctx context.Context, s Source, w Want) (Result, error) {
	w.SHA256 = strings.ToLower(strings.TrimSpace(w.SHA256))
	if w.SHA256 != "" && !hex64.MatchString(w.SHA256) {
		return Result{}, fault.New(fault.Invalid, opPull, "a SHA-256 has 64 digits of 0-9 and a-f")
	}
	r := Result{Name: cmp.Or(w.Name, s.Name), File: w.To}
	if w.To != "" {
		r.Name = ""
	} else {
		if r.Name == "" && w.Name == "" {
			return r, fault.New(fault.Invalid, opPull, "the address gives the model no name: say --as NAME")
		}
		if err := checkName(r.Name); err != nil {
			return r, err
		}
		r.File = filepath.Join(p.dir, r.Name+".gguf")
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return r, fault.New(fault.Unavailable, opPull, "%w", err)
	}
	note, err := p.noted(s.Key)
	if err != nil {
		return r, err
	}
	t, err := openPart(r.File+".part", s.Key)
	if err != nil {
		return r, err
	}
	err = p.pull(ctx, s, w, note, t, &r)
	if err != nil && !t.done && t.resumable() {
		r.Kept = t.at
	}
	if shut := t.close(); err == nil && shut != nil {
		err = writeFault(shut)
	}
	if err != nil {
		return r, fault.Wrap(opPull, err)
	}
	return r, nil
}

// pull is Pull while the part is held.
func (p *Puller) pull(ctx context.Context, s Source, w Want, note Note, t *part, r *Result) error {
	expect := expectation{hash: w.SHA256, by: ByCaller}
	if expect.hash == "" {
		expect = expectation{hash: note.SHA256, by: ByNote}
	}
	there, err := p.there(ctx, note, expect, r)
	switch {
	case err != nil:
		return err
	case there:
		return p.settle(s, note, expect.by, r)
	}
	if err := p.fetch(ctx, s, expect, t, r); err != nil {
		return err
	}
	if expect, err = p.accept(ctx, expect, t, r); err != nil {
		return err
	}
	// The note comes first: a file without one would be taken for somebody else's.
	if err := p.settle(s, note, expect.by, r); err != nil {
		return err
	}
	return t.name(r.File)
}

// settle notes the hash that the source has from now on.
func (p *Puller) settle(s Source, before Note, by By, r *Result) error {
	r.By = by
	r.Confirmed = by == ByCaller || before.Confirmed && before.SHA256 == r.SHA256
	n := Note{Source: s.Key, Name: r.Name, SHA256: r.SHA256, Bytes: r.Bytes, Confirmed: r.Confirmed, Noted: p.now().UTC().Truncate(time.Second)}
	if before.SHA256 == n.SHA256 {
		n.Noted = before.Noted
		n.Name = cmp.Or(n.Name, before.Name) // what lies in the folder is still there
	}
	if n == before {
		return nil
	}
	return p.note(n)
}

// expectation is the hash that a file must have, and who says so.
type expectation struct {
	hash string
	by   By
}

// there: the file that is wanted is there already. Another one in its place is
// left alone, unless it came from the same source.
func (p *Puller) there(ctx context.Context, note Note, expect expectation, r *Result) (bool, error) {
	f, err := os.Open(r.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fault.New(fault.Unavailable, opPull, "%w", err)
	}
	defer f.Close()
	var hash string
	if expect.hash != "" {
		if hash, r.Bytes, err = p.hash(ctx, f); err != nil {
			return false, err
		}
	}
	switch {
	case expect.hash != "" && hash == expect.hash:
		r.SHA256 = hash
		return true, nil
	case note.Name != "" && note.Name == r.Name:
		return false, nil
	}
	return false, fault.New(fault.Conflict, opPull, "%s is there already, and nothing says that it came from here: remove it, or name the new one otherwise with --as or --to", r.File)
}

// hash takes the SHA-256 of an open file from its beginning.
func (p *Puller) hash(ctx context.Context, f *os.File) (string, int64, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		return "", 0, fault.New(fault.Invalid, opPull, "%s is no file", f.Name())
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	sum, buf, done := sha256.New(), make([]byte, 1<<20), int64(0)
	for err == nil {
		if ctx.Err() != nil {
			return "", 0, context.Cause(ctx)
		}
		var n int
		n, err = f.Read(buf)
		sum.Write(buf[:n])
		done += int64(n)
		p.observer.Checked(done, info.Size())
	}
	if err != io.EOF {
		return "", 0, fault.New(fault.Unavailable, opPull, "%w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), done, nil
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
