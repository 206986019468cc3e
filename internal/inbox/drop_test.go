package inbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/ingest"
)

// DropSpace removes a space's uploads: running, queued, ended and those being sent.
// Other spaces keep theirs.
func TestDropSpace(t *testing.T) { synctest.Test(t, dropSpace) }

func dropSpace(t *testing.T) {
	g := newGated(t)
	queued := accept(t, g.Inbox, "mail", "", notes(20, 22)...)
	others := accept(t, g.Inbox, "other", "", notes(0, 1)...)
	waiting := make(chan inbox.Upload)
	for _, id := range []string{g.u.ID, queued.ID} {
		go func() {
			u, err := g.Wait(context.Background(), id)
			if err != nil {
				t.Error(err)
			}
			waiting <- u
		}()
	}
	half, on, sender := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := g.Accept(context.Background(), "mail", "", func(take inbox.Take) error {
			if err := take("half.txt", strings.NewReader("half of what is sent")); err != nil {
				return err
			}
			close(half)
			<-on // a slow sender
			return take("rest.txt", strings.NewReader("the rest of what is sent"))
		})
		sender <- err
	}()
	<-half
	g.bank.mu.Lock()
	delete(g.bank.spaces, "mail")
	g.bank.mu.Unlock()
	synctest.Wait() // both wait
	dropped := make(chan error)
	go func() { dropped <- g.DropSpace("mail") }()
	for range 2 {
		if u := <-waiting; u.State != inbox.Failed || !u.Dropped || !strings.Contains(u.Error, "forgotten") {
			t.Errorf("%+v", u)
		}
	}
	close(g.on)
	if err := <-dropped; err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"garden", "half", "n0"} {
		for _, name := range traces(t, g.dir, word) {
			if !strings.HasPrefix(name, others.ID) {
				t.Errorf("%s is in %s", word, name)
			}
		}
	}
	close(on)
	if err := <-sender; kind(err) != fault.NotFound {
		t.Error(err)
	}
	wait(t, g.Inbox, others.ID)
	if got := g.List("mail", 10); len(got) > 0 || inbox.Spooled(g.Inbox) != 0 {
		t.Error(got, inbox.Spooled(g.Inbox))
	}
	if d := cmp.Diff([]string{".record"}, entries(t, g.dir)); d != "" {
		t.Error(d)
	}
}

// DropSpace stops a running upload within a batch, even while its space exists.
func TestDropRunning(t *testing.T) { synctest.Test(t, dropRunning) }

func dropRunning(t *testing.T) {
	g := newGated(t)
	dropped := make(chan error)
	go func() { dropped <- g.DropSpace("mail") }()
	synctest.Wait() // it waits
	if left := entries(t, g.dir); len(left) > 0 {
		t.Error("if it never ends, it is begun again after a restart", left)
	}
	close(g.on)
	if err := <-dropped; err != nil {
		t.Fatal(err)
	}
	if left := entries(t, g.dir); len(left) > 0 {
		t.Error(left)
	}
	if d := cmp.Diff(documentsOf(notes(0, 3)), g.bank.texts("mail")); d != "" {
		t.Error(d)
	}
	if u := wait(t, g.Inbox, accept(t, g.Inbox, "mail", "", notes(0, 1)...).ID); u.State != inbox.Done {
		t.Errorf("the next is not taken in: %+v", u)
	}
}

// Cancel keeps documents that are stored, and other uploads of the space continue.
func TestCancel(t *testing.T) { synctest.Test(t, cancelled) }

func cancelled(t *testing.T) {
	g := newGated(t)
	other := accept(t, g.Inbox, "mail", "", notes(20, 21)...)
	if err := g.Cancel("other", g.u.ID); kind(err) != fault.NotFound {
		t.Error(err)
	}
	gone := make(chan error)
	go func() { gone <- g.Cancel("mail", g.u.ID) }()
	synctest.Wait() // it waits
	close(g.on)
	if err := <-gone; err != nil {
		t.Fatal(err)
	}
	if _, err := g.Get("mail", g.u.ID); kind(err) != fault.NotFound {
		t.Error(err)
	}
	if err := g.Cancel("mail", g.u.ID); kind(err) != fault.NotFound {
		t.Error(err)
	}
	if u := wait(t, g.Inbox, other.ID); u.State != inbox.Done {
		t.Errorf("%+v", u)
	}
	if d := cmp.Diff(documentsOf(append(notes(0, 3), notes(20, 21)...)), g.bank.texts("mail")); d != "" {
		t.Error(d)
	}
	for _, name := range entries(t, g.dir) {
		if strings.HasPrefix(name, g.u.ID) {
			t.Errorf("%s is left", name)
		}
	}
}

// After Cancel and CleanUp no byte of an upload is on disk: text, names, key.
func TestCancelledLeavesDisk(t *testing.T) {
	dir := t.TempDir()
	w := mustOpenWorld(t, dir, nil)
	u := accept(t, w.Inbox, "mail", "egret-key", sent{"heron.txt", "The spoonbill waits."})
	if len(below(t, dir, "spoonbill")) == 0 || len(below(t, dir, "heron")) == 0 {
		t.Error("it is not on the disk")
	}
	if err := w.Inbox.Cancel("mail", u.ID); err != nil {
		t.Fatal(err)
	}
	if due, err := w.Library.NeedsCleanUp(); !due || err != nil {
		t.Error("no CleanUp is due", err)
	}
	if err := w.Library.CleanUp(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"heron", "spoonbill", "egret-key", u.ID} {
		if found := below(t, dir, word); len(found) > 0 {
			t.Errorf("%s is in %v", word, found)
		}
	}
}

// below returns all files at any depth that contain a word.
func below(t *testing.T, dir, word string) (found []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(word)) {
			found = append(found, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// late is a library whose Add waits after its work is done.
type late struct {
	*bank
	at, on chan struct{}
}

func (l late) Add(ctx context.Context, space string, read ingest.Source, progress func(ingest.Report)) (ingest.Report, error) {
	r, err := l.bank.Add(ctx, space, read, progress)
	l.at <- struct{}{}
	<-l.on
	return r, err
}

// DropSpace also removes an upload that has just been stored.
func TestDropAtTheEnd(t *testing.T) { synctest.Test(t, dropAtTheEnd) }

func dropAtTheEnd(t *testing.T) {
	l := late{newBank("mail"), make(chan struct{}), make(chan struct{})}
	o := options(t, l.bank)
	o.Library = l
	dir := folder(t)
	in := open(t, dir, o)
	u := accept(t, in, "mail", "", notes(0, 1)...)
	run(t, in)
	<-l.at
	dropped := make(chan error)
	go func() { dropped <- in.DropSpace("mail") }()
	synctest.Wait()
	close(l.on)
	if err := <-dropped; err != nil {
		t.Fatal(err)
	}
	if _, err := in.Get("mail", u.ID); kind(err) != fault.NotFound || len(entries(t, dir)) > 0 {
		t.Error(err, entries(t, dir))
	}
}

// Concurrent Accept, Get, List, Forget and DropSpace lose nothing but what is dropped.
func TestManyAtOnce(t *testing.T) {
	const spaces, rounds = 4, 12
	var names []string
	for i := range spaces {
		names = append(names, fmt.Sprint("s", i))
	}
	s := newBank(names...)
	dir := folder(t)
	var mu sync.Mutex
	last := map[string]inbox.State{}
	order := map[inbox.State]int{inbox.Queued: 1, inbox.Running: 2, inbox.Done: 3, inbox.Failed: 3}
	o := options(t, s)
	o.Observer.Moved = func(u inbox.Upload) {
		mu.Lock()
		defer mu.Unlock()
		if u.Space != "s0" && order[u.State] != order[last[u.ID]]+1 {
			t.Errorf("%s after %q", u.State, last[u.ID])
		}
		last[u.ID] = u.State
	}
	in := open(t, dir, o)
	stop := run(t, in)
	var all sync.WaitGroup
	for _, space := range names {
		for i := range rounds {
			files := notes(i, i+5)
			all.Go(func() {
				u, err := in.Accept(context.Background(), space, fmt.Sprint("k", i%3), each(files...))
				switch {
				case kind(err) == fault.Conflict: // with another upload of this key
					u, err = in.Accept(context.Background(), space, "", each(files...))
				}
				if space == "s0" && kind(err) == fault.NotFound {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				u, err = in.Wait(context.Background(), u.ID)
				if space != "s0" && kind(err) != fault.NotFound && u.State != inbox.Done { // NotFound: forgotten meanwhile
					t.Errorf("%+v %v", u, err)
				}
			})
			all.Go(func() {
				for _, u := range in.List(space, 5) {
					if u.Space != space {
						t.Error("another's")
					}
					if _, err := in.Get(space, u.ID); kind(err) != fault.NotFound && err != nil {
						t.Error(err)
					}
				}
				if _, err := in.Accept(context.Background(), space, "", func(take inbox.Take) error {
					return take("a.txt", broken("half", errBody))
				}); !errors.Is(err, errBody) && kind(err) != fault.NotFound {
					t.Error(err)
				}
				if err := in.Forget(space); err != nil {
					t.Error(err)
				}
				if space == "s0" {
					if err := in.DropSpace(space); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	for _, space := range names[1:] {
		for _, u := range in.List(space, 1000) {
			wait(t, in, u.ID)
		}
		if d := cmp.Diff(documentsOf(notes(0, rounds+4)), s.texts(space)); d != "" {
			t.Error(space, d)
		}
	}
	stop()
	for _, space := range names {
		if err := errors.Join(in.DropSpace(space), in.Forget(space)); err != nil {
			t.Error(err)
		}
	}
	if left := entries(t, dir); len(left) > 0 || inbox.Spooled(in) != 0 {
		t.Error(left, inbox.Spooled(in))
	}
}
