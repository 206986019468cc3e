package pull

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

const opPull = "pull: pull"

// Observer hears of progress. Its funcs may be nil.
type Observer struct {
	Fetched func(done, total int64)             // negative total: unknown
	Checked func(done, total int64)             // bytes that were hashed
	Cut     func(cause error, at time.Duration) // it is tried again after a while
	Anew    func()                              // what was fetched before is of another file
}

// Options of a Puller.
type Options struct {
	Dir   string // the folder of models; created if needed
	Hub   string // address of the hub; empty: DefaultHub
	Token string // for the hub
	// Check says why a complete file is of no use.
	Check    func(ctx context.Context, path string) error
	Observer Observer
	Now      func() time.Time
}

// Puller fetches models.
type Puller struct {
	o         Options
	hub       *url.URL
	transport *http.Transport

	stall time.Duration                                    // without a byte, before a connection counts as cut
	wait  func(ctx context.Context, d time.Duration) error // between attempts
	free  func(dir string) (n int64, known bool)
}

// New makes a Puller.
func New(o Options) (*Puller, error) {
	hub, err := url.Parse(cmp.Or(o.Hub, DefaultHub))
	if err != nil || hub.Host == "" || hub.Scheme != "https" && hub.Scheme != "http" || hub.User != nil || hub.RawQuery != "" {
		return nil, fault.New(fault.Invalid, "pull: new", "HF_ENDPOINT is no address of a hub: write it as %s", DefaultHub)
	}
	o.Token = strings.TrimSpace(o.Token)
	if o.Observer.Fetched == nil {
		o.Observer.Fetched = func(int64, int64) {}
	}
	if o.Observer.Checked == nil {
		o.Observer.Checked = func(int64, int64) {}
	}
	if o.Observer.Cut == nil {
		o.Observer.Cut = func(error, time.Duration) {}
	}
	if o.Observer.Anew == nil {
		o.Observer.Anew = func() {}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true
	return &Puller{o: o, hub: hub, transport: transport, stall: time.Minute, wait: wait, free: durable.Free}, nil
}

// Close closes idle connections.
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

// Want changes where a file goes and what it must be.
type Want struct {
	Name   string // of the model; empty: the source's
	To     string // a file elsewhere, which gets no name
	SHA256 string // that the file must have
}

// By says who named the hash of a file.
type By string

// Who can have named it, best first.
const (
	ByCaller By = "caller" // in this call
	ByNote   By = "note"   // noted when the source was fetched before
	ByHub    By = "hub"    // the hub that the file comes from
	ByNobody By = "nobody" // it is the hash of what came
)

// Result is a complete file, or how far a failed Pull got.
type Result struct {
	Name      string
	File      string
	Bytes     int64
	SHA256    string
	By        By
	Confirmed bool  // somebody named the hash, now or before
	Fetched   int64 // bytes that came now; 0: the file was there
	Kept      int64 // after a failure: bytes that the same call continues from
}

// Pull fetches a file unless it is there already.
func (p *Puller) Pull(ctx context.Context, s Source, w Want) (r Result, err error) {
	want := strings.ToLower(strings.TrimSpace(w.SHA256))
	r = Result{Name: cmp.Or(w.Name, s.Name), File: w.To, By: ByCaller}
	switch {
	case want != "" && !hex64.MatchString(want):
		return r, fault.New(fault.Invalid, opPull, "a SHA-256 has 64 digits of 0-9 and a-f")
	case w.To != "":
		r.Name = ""
	case r.Name == "":
		return r, fault.New(fault.Invalid, opPull, "the address gives the model no name: set one with --as NAME")
	case r.Name != ModelName(r.Name):
		return r, fault.New(fault.Invalid, opPull, "%q cannot be the name of a model: use at most %d letters, digits and ._+-, with neither . nor - at the ends", r.Name, maxName)
	default:
		r.File = filepath.Join(p.o.Dir, r.Name+".gguf")
	}
	unlock, err := p.lock()
	if err != nil {
		return r, err
	}
	defer unlock()
	notes, note, err := p.noted(s.Key)
	if err != nil {
		return r, err
	}
	if want == "" {
		want, r.By = note.SHA256, ByNote
	}
	there, err := p.there(ctx, note, want, &r)
	if err != nil {
		return r, fault.Wrap(opPull, err)
	}
	if there {
		return r, p.settle(notes, note, s, &r)
	}
	t, err := openPart(r.File+".part", s.Key)
	if err != nil {
		return r, err
	}
	defer func() {
		if err != nil && !t.done && t.resumable() {
			r.Kept = t.at
		}
		if shut := t.close(); err == nil && shut != nil {
			err = writeFault(shut)
		}
		err = fault.Wrap(opPull, err)
	}()
	if err := p.fetch(ctx, s, want, t, &r); err != nil {
		return r, err
	}
	if err := p.accept(ctx, want, t, &r); err != nil {
		return r, err
	}
	// The note comes first: a file without one counts as somebody else's.
	if err := p.settle(notes, note, s, &r); err != nil {
		return r, err
	}
	return r, t.rename(r.File)
}

// lock keeps other processes from fetching at the same time: they would write the same
// part or the same notes.
func (p *Puller) lock() (unlock func(), err error) {
	if err := os.MkdirAll(p.o.Dir, 0o700); err != nil {
		return nil, writeFault(err)
	}
	f, err := os.OpenFile(filepath.Join(p.o.Dir, "known.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, writeFault(err)
	}
	locked, err := lock(f)
	if err == nil && !locked {
		err = fault.New(fault.Conflict, opPull, "another process is fetching a model: wait for it")
	}
	if err != nil {
		return nil, fault.Wrap(opPull, errors.Join(err, f.Close()))
	}
	return func() { f.Close() }, nil
}

// there says whether the wanted file exists. Another file under its name is an error,
// unless it came from the same source.
func (p *Puller) there(ctx context.Context, note Note, want string, r *Result) (bool, error) {
	f, err := os.Open(r.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, writeFault(err)
	}
	defer f.Close()
	if want != "" {
		if err := p.hash(ctx, f, r); err != nil || r.SHA256 == want {
			return err == nil, err
		}
	}
	if note.Name != "" && note.Name == r.Name {
		return false, nil
	}
	return false, fault.New(fault.Conflict, opPull, "%s is there already, and nothing says that it came from here: remove it, or choose another name with --as or --to", r.File)
}

// accept checks a complete part.
func (p *Puller) accept(ctx context.Context, want string, t *part, r *Result) error {
	if err := p.hash(ctx, t.f, r); err != nil {
		return err
	}
	switch {
	case want == "" && t.SHA256 != "":
		want, r.By = t.SHA256, ByHub
	case want == "":
		want, r.By = r.SHA256, ByNobody
	}
	if r.SHA256 != want {
		t.remove()
		return wrongHash("what was fetched was removed: its SHA-256", r.SHA256, want, r.By)
	}
	err := p.o.Check(ctx, t.path)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		t.remove()
		return fault.New(fault.KindOf(err), opPull, "the file is no model that can be used and was removed: %w", err)
	}
	return nil
}

func wrongHash(what, got, want string, by By) error {
	who := map[By]string{
		ByCaller: "which was named",
		ByNote:   "which was noted when it was fetched before; if it is meant to be another file now, name its hash with --sha256",
		ByHub:    "which the hub says",
	}[by]
	return fault.New(fault.Invalid, opPull, "%s is %s and must be %s, %s", what, got, want, who)
}

// hash sets the result's SHA-256 and size to those of a file.
func (p *Puller) hash(ctx context.Context, f *os.File, r *Result) error {
	info, err := f.Stat()
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	sum := sha256.New()
	r.Bytes = 0
	for err == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var n int64
		n, err = io.CopyN(sum, f, 1<<20)
		r.Bytes += n
		p.o.Observer.Checked(r.Bytes, info.Size())
	}
	if err != io.EOF {
		return fault.New(fault.Unavailable, opPull, "%w", err)
	}
	r.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return nil
}
