package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
)

// camera copies the folder before each step, as a crash would leave it.
type camera struct {
	*testing.T
	dir  string
	bank *bank

	mu     sync.Mutex
	taken  *sync.Cond
	synced map[string]int64 // bytes of a file that survive even a power cut
	shots  []shot
	now    promise // what has been promised so far
}

// promise is what clients were told.
type promise struct {
	Accepted int
	Ended    []string // IDs
	// Sure is each document's text in the end, by key; empty means that it must not
	// exist. While a change is not acknowledged, it may have the text in Maybe.
	Sure, Maybe map[string]string
	Unknown     bool // ended uploads were forgotten
	Dropped     bool
}

// may notes how documents may change; sure notes that the change was acknowledged.
func (p *promise) may(texts map[string]string) { p.Maybe = texts }

func (p *promise) sure() {
	p.Sure = maps.Clone(p.Sure)
	maps.Copy(p.Sure, p.Maybe)
	p.Maybe = nil
}

// shot is the state before a step.
type shot struct {
	what string
	promise
	dir  string
	bank *bank
}

// step copies the folder as kill -9 leaves it, and as a power cut may leave it:
// without what was not synced.
func (c *camera) step(what, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.take(what + " " + name)
	if what == "sync" && name != "." {
		if info, err := os.Stat(filepath.Join(c.dir, name)); err == nil {
			c.synced[name] = info.Size()
		}
	}
	return nil
}

func (c *camera) take(what string) {
	for _, power := range []bool{false, true} {
		s := shot{what: what, promise: c.now, dir: filepath.Join(c.TempDir(), "inbox"), bank: c.bank.copy()}
		s.Ended = slices.Clone(s.Ended)
		copyFolder(c.T, c.dir, s.dir)
		if power {
			s.what += " (power cut)"
			for _, d := range mustReadDir(c.T, s.dir) {
				if strings.HasSuffix(d.Name(), inbox.RecordEnd) { // the database has synced it
					continue
				}
				if err := os.Truncate(filepath.Join(s.dir, d.Name()), c.synced[d.Name()]); err != nil {
					c.Error(err)
				}
			}
		}
		c.shots = append(c.shots, s)
		c.taken.Broadcast()
	}
}

func mustReadDir(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// told notes what a client was told.
func (c *camera) told(fn func(p *promise)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(&c.now)
}

// A kill before any step of accepting, storing, forgetting and dropping loses nothing
// that was acknowledged: the next process stores it once and in order. An
// unacknowledged upload is complete or has left nothing.
func TestCrashAtEveryStep(t *testing.T) {
	c := &camera{T: t, dir: folder(t), bank: newBank("mail", "other"), synced: map[string]int64{}}
	c.taken = sync.NewCond(&c.mu)
	c.now.Sure = map[string]string{}
	at, on := make(chan struct{}), make(chan struct{})
	c.bank.before = func(key string) {
		if strings.HasSuffix(key, "n03.txt") {
			at <- struct{}{}
			<-on
		}
	}
	in := openOn(t, c.dir, options(t, c.bank), c.step)
	send := func(key string, files ...sent) inbox.Upload {
		c.told(func(p *promise) { p.may(documentsOf(files)) })
		u := accept(t, in, "mail", key, files...)
		c.told(func(p *promise) { p.sure(); p.Accepted++ })
		return u
	}
	end := func(u inbox.Upload) {
		if got := wait(t, in, u.ID); got.State != inbox.Done {
			t.Errorf("%+v", got)
		}
		c.told(func(p *promise) { p.Ended = append(p.Ended, u.ID) })
	}
	first := send("k", notes(0, 2)...)
	second := send("", append(notes(2, 6), sent{"n00.txt", "a newer note"})...)
	stop := run(t, in)
	end(first)
	// The second stops before its second note; the first of them is forgotten.
	<-at
	const forgotten = "file:n02.txt"
	c.told(func(p *promise) { p.may(map[string]string{forgotten: ""}) })
	held := make(chan error)
	go func() { held <- in.Withhold(context.Background(), "mail", percached.NewDocumentID(forgotten)) }()
	c.await("store Uw.record")
	on <- struct{}{}
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	c.bank.remove("mail", forgotten)
	c.told((*promise).sure)
	end(second)
	if err := in.Forget("mail"); err != nil {
		t.Fatal(err)
	}
	c.told(func(p *promise) { p.Unknown = true })
	stop()
	send("", notes(7, 9)...)
	u := accept(t, in, "other", "", notes(0, 1)...)
	c.told(func(p *promise) { p.may(map[string]string{"file:n07.txt": "", "file:n08.txt": ""}) })
	if err := in.DropSpace("mail"); err != nil {
		t.Fatal(err)
	}
	c.told(func(p *promise) { p.sure(); p.Dropped = true })
	if _, err := in.Get("other", u.ID); err != nil {
		t.Error(err)
	}
	c.take("the end")
	if len(c.shots) < 60 {
		t.Errorf("%d pictures only", len(c.shots))
	}
	for _, s := range c.shots {
		s.examine(t)
	}
}

// await waits for a step.
func (c *camera) await(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !slices.ContainsFunc(c.shots, func(s shot) bool { return s.what == what }) {
		c.taken.Wait()
	}
}

// examine does what the next process does.
func (s *shot) examine(t *testing.T) {
	t.Helper()
	bad := func(format string, args ...any) {
		t.Helper()
		t.Errorf("killed before %s: %s", s.what, fmt.Sprintf(format, args...))
	}
	in, err := inbox.OpenOn(s.dir, options(t, s.bank), nil)
	if err != nil {
		bad("%v", err)
		return
	}
	for _, name := range entries(t, s.dir) {
		if name != ".spool" && name != ".record" && name != "Uw.record" {
			bad("%s is left", name)
		}
	}
	list := in.List("mail", 100)
	if len(list) > s.Accepted+1 {
		bad("%d uploads of %d", len(list), s.Accepted)
	}
	if s.Dropped && len(list) > 0 || s.Unknown && slices.ContainsFunc(list, func(u inbox.Upload) bool { return slices.Contains(s.Ended, u.ID) }) {
		bad("what was forgotten is known")
	}
	ctx, cancel := context.WithCancel(context.Background())
	running := make(chan error, 1)
	go func() { running <- in.Run(ctx) }()
	for _, u := range list {
		if got := wait(t, in, u.ID); got.State != inbox.Done {
			bad("%+v", got)
		}
	}
	for _, u := range in.List("other", 1) {
		wait(t, in, u.ID)
	}
	cancel()
	if err := errors.Join(<-running, in.Close()); err != nil {
		bad("%v", err)
	}
	got := s.bank.texts("mail")
	for key, text := range s.Sure {
		if maybe, may := s.Maybe[key]; got[key] != text && !(may && got[key] == maybe) {
			bad("%s is %q", key, got[key])
		}
	}
	for key, text := range got {
		if s.Sure[key] != text && s.Maybe[key] != text {
			bad("%s is %q, and nobody sent that", key, text)
		}
	}
	for _, name := range entries(t, s.dir) {
		if name != ".record" {
			bad("%s is left in the end", name)
		}
	}
}

// If the disk fails at any step of Accept, the sender gets an error, nothing is left,
// and the next upload succeeds.
func TestFullDiskAccepting(t *testing.T) {
	for fail := 0; ; fail++ {
		var steps []string
		broken := true
		s := newBank("mail")
		dir := folder(t)
		in := openOn(t, dir, options(t, s), func(what, name string) error {
			if what == "remove" || what == "delete" || name == "." && len(steps) == 0 { // deleting needs no room; Open
				return nil
			}
			steps = append(steps, what)
			if broken && len(steps) > fail {
				return &os.PathError{Op: what, Path: filepath.Join(dir, name), Err: syscall.ENOSPC}
			}
			return nil
		})
		_, err := in.Accept(context.Background(), "mail", "k", each(notes(0, 2)...))
		if err == nil {
			want := []string{"create", "write", "write", "sync", "sync", "store"}
			if d := cmp.Diff(want, steps); d != "" {
				t.Error(d)
			}
			break
		}
		if kind(err) != fault.Unavailable || !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), dir) {
			t.Errorf("step %d: %v", fail, err)
		}
		if left := entries(t, dir); len(left) > 0 || inbox.Spooled(in) != 0 || len(in.List("mail", 1)) > 0 {
			t.Errorf("step %d: %v is left", fail, left)
		}
		broken = false
		accept(t, in, "mail", "k", notes(0, 2)...)
	}
}

// If the disk fails at any step of an upload's end, the upload has ended and does not
// start again.
func TestFullDiskEnding(t *testing.T) {
	for fail := range 2 { // at its beginning, too
		steps, broken := 0, false
		s := newBank("mail")
		dir, log := folder(t), &journal{}
		o := options(t, s)
		o.Logger = log.logger()
		in := openOn(t, dir, o, func(what, name string) error {
			if what == "remove" || what == "delete" || !broken {
				return nil
			}
			if steps++; steps > fail {
				return &os.PathError{Op: what, Path: filepath.Join(dir, name), Err: syscall.ENOSPC}
			}
			return nil
		})
		u := accept(t, in, "mail", "", notes(0, 2)...)
		broken = true
		stop := run(t, in)
		if got := wait(t, in, u.ID); got.State != inbox.Done || got.Report.Added != 2 {
			t.Errorf("step %d: %+v", fail, got)
		}
		stop()
		if left := entries(t, dir); len(left) > 0 || !strings.Contains(log.String(), "cannot store") {
			t.Errorf("step %d: %v is left; %s", fail, left, log)
		}
		in = open(t, dir, o)
		if got := in.List("mail", 10); len(got) > 0 {
			t.Errorf("step %d: %+v", fail, got)
		}
	}
}

// An upload whose spool file is damaged fails.
func TestDamagedSpool(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(path string) error
	}{
		{"gone", os.Remove},
		{"cut", func(p string) error { return os.Truncate(p, 10) }},
		{"another text", func(p string) error {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			b[3] ^= 1
			return os.WriteFile(p, b, 0o600)
		}},
	} {
		s := newBank("mail")
		dir := folder(t)
		in := open(t, dir, options(t, s))
		u := accept(t, in, "mail", "", notes(0, 2)...)
		if err := errors.Join(in.Close(), tc.spoil(filepath.Join(dir, u.ID+".spool"))); err != nil {
			t.Fatal(err)
		}
		in = open(t, dir, options(t, s))
		run(t, in)
		if got := wait(t, in, u.ID); got.State != inbox.Failed || !strings.Contains(got.Error, "send it again") || len(s.texts("mail")) > 0 {
			t.Errorf("%s: %+v", tc.name, got)
		}
		if d := cmp.Diff([]string{".record"}, entries(t, dir)); d != "" {
			t.Error(tc.name, d)
		}
	}
}
