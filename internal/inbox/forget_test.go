package inbox_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/ingest"
)

// traces returns the files of a folder that contain a word.
func traces(t *testing.T, dir, word string) (found []string) {
	t.Helper()
	for _, d := range mustReadDir(t, dir) {
		b, err := os.ReadFile(filepath.Join(dir, d.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
			t.Fatal(err)
		}
		if strings.Contains(string(b), word) {
			found = append(found, d.Name())
		}
	}
	return found
}

func TestForget(t *testing.T) {
	s := newBank("mail", "other")
	dir := folder(t)
	in := open(t, dir, options(t, s))
	stop := run(t, in)
	empty := sent{"heron.txt", ""} // its report has the name
	ended := wait(t, in, accept(t, in, "mail", "k", empty).ID)
	others := wait(t, in, accept(t, in, "other", "k", empty).ID)
	stop()
	queued := accept(t, in, "mail", "q", notes(0, 1)...)
	if err := in.Forget("mail"); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Get("mail", ended.ID); kind(err) != fault.NotFound {
		t.Error(err)
	}
	if d := cmp.Diff([]inbox.Upload{queued}, in.List("mail", 10)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]inbox.Upload{others}, in.List("other", 10)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{others.ID + ".record"}, traces(t, dir, "heron")); d != "" {
		t.Error(d)
	}
	if again := accept(t, in, "mail", "k", notes(3, 4)...); again.ID == ended.ID {
		t.Error("its key is known")
	}
	if again := accept(t, in, "mail", "q", notes(0, 1)...); again.ID != queued.ID {
		t.Error("the key of the queued one is not")
	}
}

// gated is an upload that waits in its middle for the test.
type gated struct {
	*testing.T
	*inbox.Inbox
	bank *bank
	dir  string
	u    inbox.Upload
	at   chan struct{} // the reader is at the document
	on   chan struct{} // it may continue
	held chan struct{} // the list of withheld documents is about to be stored
	fail bool          // and cannot be
}

// newGated starts to store ten notes, of which the fourth and the eighth are empty,
// and waits before the sixth.
func newGated(t *testing.T) *gated {
	t.Helper()
	g := &gated{T: t, bank: newBank("mail", "other"), dir: folder(t), at: make(chan struct{}), on: make(chan struct{}), held: make(chan struct{}, 1)}
	stop := sync.OnceFunc(func() {
		g.at <- struct{}{}
		<-g.on
	})
	g.bank.before = func(key string) {
		if strings.HasSuffix(key, "n05.txt") {
			stop()
		}
	}
	g.Inbox = openOn(t, g.dir, options(t, g.bank), func(what, name string) error {
		if what == "store" && name == "Uw.record" {
			g.held <- struct{}{}
			if g.fail {
				return errors.New("no room")
			}
		}
		return nil
	})
	files := notes(0, 10)
	files[3].text, files[7].text = "", ""
	g.u = accept(t, g.Inbox, "mail", "", files...)
	run(t, g.Inbox)
	<-g.at
	return g
}

// Forget removes names from the report of a running upload.
func TestForgetWhileRunning(t *testing.T) {
	g := newGated(t)
	if err := g.Forget("mail"); err != nil {
		t.Fatal(err)
	}
	if u, err := g.Get("mail", g.u.ID); err != nil || len(u.Report.Failures) > 0 || u.State != inbox.Running {
		t.Errorf("%+v %v", u, err)
	}
	close(g.on)
	u := wait(t, g.Inbox, g.u.ID)
	want := ingest.Report{Added: 8, Failed: 2, Failures: []ingest.Failure{{Name: "n07.txt", Reason: "invalid"}}}
	if d := cmp.Diff(want, u.Report); d != "" {
		t.Error(d)
	}
	if found := traces(t, g.dir, "n03.txt"); len(found) > 0 {
		t.Error(found)
	}
}

// Forget also removes names from before a pause.
func TestForgetAfterPause(t *testing.T) {
	g := newGated(t)
	at, on := make(chan struct{}), make(chan struct{})
	g.bank.before = func(key string) {
		if strings.HasSuffix(key, "n08.txt") {
			at <- struct{}{}
			<-on
		}
	}
	held := make(chan error)
	go func() { held <- g.Withhold(context.Background(), "mail", percached.NewDocumentID("x")) }()
	<-g.held
	close(g.on)
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	<-at
	if err := g.Forget("mail"); err != nil {
		t.Fatal(err)
	}
	close(on)
	u := wait(t, g.Inbox, g.u.ID)
	if d := cmp.Diff(ingest.Report{Added: 8, Failed: 2}, u.Report); d != "" {
		t.Error(d)
	}
}

// A document that is forgotten while an upload brings it does not return. All others
// are stored once.
func TestWithhold(t *testing.T) {
	for _, tc := range []struct {
		name string
		note string // which is withheld
		in   bool   // it was stored before
		fail bool   // it cannot be stored
	}{
		{"taken in", "n00.txt", true, false},
		{"on the way", "n04.txt", true, false},
		{"being handed over", "n05.txt", true, false},
		{"not read yet", "n08.txt", false, false},
		{"no room", "n00.txt", true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := newGated(t)
			g.fail = tc.fail
			later := accept(t, g.Inbox, "mail", "", sent{tc.note, "the same again"})
			held := make(chan error)
			go func() {
				held <- g.Withhold(context.Background(), "mail", percached.NewDocumentID("file:"+tc.note))
			}()
			<-g.held
			close(g.on)
			if err := <-held; err != nil {
				t.Fatal(err)
			}
			_, there := g.bank.texts("mail")["file:"+tc.note]
			if there != tc.in {
				t.Errorf("it is there: %v", there)
			}
			g.bank.remove("mail", "file:"+tc.note)
			// A later upload may bring it.
			anew := accept(t, g.Inbox, "mail", "", sent{tc.note, "anew"})
			u := wait(t, g.Inbox, g.u.ID)
			want := ingest.Report{Added: 8, Failed: 2, Failures: []ingest.Failure{{Name: "n03.txt", Reason: "invalid"}, {Name: "n07.txt", Reason: "invalid"}}}
			if !tc.in {
				want.Added--
			}
			if d := cmp.Diff(want, u.Report); d != "" {
				t.Error(d)
			}
			if u := wait(t, g.Inbox, later.ID); u.State != inbox.Done || u.Report.Added != 0 {
				t.Errorf("%+v", u)
			}
			wait(t, g.Inbox, anew.ID)
			texts := g.bank.texts("mail")
			if len(texts) != 8 || texts["file:"+tc.note] != "anew" {
				t.Error(texts)
			}
			// It is not withheld for ever.
			if found := traces(t, g.dir, "documents"); len(found) > 0 {
				t.Error(found)
			}
			if u := wait(t, g.Inbox, accept(t, g.Inbox, "mail", "", sent{tc.note, "once more"}).ID); u.Report.Replaced != 1 {
				t.Errorf("%+v", u)
			}
		})
	}
}

// Without an upload to bring the document, Withhold stores nothing and does not wait.
func TestWithholdNothing(t *testing.T) {
	g := newGated(t)
	if err := g.Withhold(context.Background(), "other", percached.NewDocumentID("x")); err != nil {
		t.Error(err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if err := g.Withhold(gone, "mail", percached.NewDocumentID("x")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	x := percached.NewDocumentID("x")
	if !g.Withholds("mail", x) || g.Withholds("other", x) || g.Withholds("mail", percached.NewDocumentID("y")) {
		t.Error("the upload may hold what was withheld of it, and nothing else")
	}
	close(g.on)
	if u := wait(t, g.Inbox, g.u.ID); u.Report.Added != 8 {
		t.Errorf("%+v", u)
	}
	if g.Withholds("mail", x) {
		t.Error("the upload has ended")
	}
}

// A document stays withheld after a restart, but not from later uploads.
func TestWithholdOverRestart(t *testing.T) {
	s := newBank("mail")
	dir := folder(t)
	in := open(t, dir, options(t, s))
	accept(t, in, "mail", "", notes(0, 3)...)
	if err := errors.Join(in.Withhold(context.Background(), "mail", percached.NewDocumentID("file:n01.txt")), in.Close()); err != nil {
		t.Fatal(err)
	}
	in = open(t, dir, options(t, s))
	again := accept(t, in, "mail", "", sent{"n02.txt", "newer"})
	stop := run(t, in)
	wait(t, in, again.ID)
	stop()
	want := documentsOf(notes(0, 3))
	delete(want, "file:n01.txt")
	want["file:n02.txt"] = "newer"
	if d := cmp.Diff(want, s.texts("mail")); d != "" {
		t.Error(d)
	}
	if err := errors.Join(in.Forget("mail"), in.Close()); err != nil {
		t.Fatal(err)
	}
	if left := entries(t, dir); len(left) > 0 {
		t.Error(left)
	}
}

// warned is a log that calls a func at a warning.
type warned struct{ do func() }

func (w warned) Enabled(context.Context, slog.Level) bool      { return true }
func (w warned) Handle(_ context.Context, _ slog.Record) error { w.do(); return nil }
func (w warned) WithAttrs([]slog.Attr) slog.Handler            { return w }
func (w warned) WithGroup(string) slog.Handler                 { return w }

// Withhold between two attempts does not wait for the next one.
func TestWithholdBetweenAttempts(t *testing.T) { synctest.Test(t, withholdBetween) }

func withholdBetween(t *testing.T) {
	s := newBank("mail")
	attempts := 0
	s.begin = func(string) error {
		if attempts++; attempts > 1 {
			return nil
		}
		return fault.New(fault.Unavailable, "bank", "it is full")
	}
	var in *inbox.Inbox
	written, held := make(chan struct{}, 10), make(chan error, 1)
	o := options(t, s)
	o.Logger = slog.New(warned{func() {
		go func() { held <- in.Withhold(context.Background(), "mail", percached.NewDocumentID("file:n00.txt")) }()
		<-written
	}})
	in = openOn(t, folder(t), o, func(what, name string) error {
		if what == "store" && name == "Uw.record" {
			written <- struct{}{}
		}
		return nil
	})
	u := accept(t, in, "mail", "", notes(0, 2)...)
	run(t, in)
	if err := <-held; err != nil || attempts != 1 {
		t.Errorf("after %d attempts: %v", attempts, err)
	}
	if got := wait(t, in, u.ID); got.State != inbox.Done || len(s.texts("mail")) != 1 {
		t.Errorf("%+v", got)
	}
}
