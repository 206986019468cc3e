package inbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
)

// A temporary error is retried with growing waits for as long as it lasts, a permanent
// one ends the upload, and an internal one does after some attempts.
func TestRetry(t *testing.T) {
	secret := errors.New("words of a document")
	const s, m = time.Second, time.Minute
	for _, tc := range []struct {
		name  string
		fails int // attempts
		err   error
		state inbox.State
		waits []time.Duration // before each further attempt
		says  string
	}{
		{"passing", 3, fault.New(fault.Unavailable, "kv", "the disk is full"), inbox.Done, []time.Duration{s, 2 * s, 4 * s}, ""},
		{"overloaded", 1, fault.New(fault.Overloaded, "kv", "later"), inbox.Done, []time.Duration{s}, ""},
		{"too late", 1, context.DeadlineExceeded, inbox.Done, []time.Duration{s}, ""},
		{"very long", 11, fault.New(fault.Unavailable, "kv", "the disk is full"), inbox.Done, []time.Duration{
			s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s, 128 * s, 256 * s, 5 * m, 5 * m,
		}, ""},
		{"the space is gone", 99, fault.New(fault.NotFound, "bank", "there is no space %q", "mail"), inbox.Failed, nil, `there is no space "mail"`},
		{"wrong", 99, fault.Wrap("ingest", fault.New(fault.Invalid, "bank", "it is wrong")), inbox.Failed, nil, "it is wrong"},
		{"of no kind", 99, secret, inbox.Failed, []time.Duration{s, 2 * s, 4 * s, 8 * s}, "log"},
		{"of no kind, once", 1, secret, inbox.Done, []time.Duration{s}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := folder(t)
			synctest.Test(t, func(t *testing.T) {
				sh := newBank("mail")
				var starts []time.Time
				sh.begin = func(string) error {
					if starts = append(starts, time.Now()); len(starts) <= tc.fails {
						return tc.err
					}
					return nil
				}
				in := open(t, dir, options(t, sh))
				run(t, in)
				u := wait(t, in, accept(t, in, "mail", "", notes(0, 1)...).ID)
				if u.State != tc.state || !strings.Contains(u.Error, tc.says) || (u.Error == "") != (tc.says == "") || strings.Contains(u.Error, secret.Error()) {
					t.Errorf("%+v", u)
				}
				var waits []time.Duration
				for i := 1; i < len(starts); i++ {
					waits = append(waits, starts[i].Sub(starts[i-1]))
				}
				if d := cmp.Diff(tc.waits, waits); d != "" {
					t.Error(d)
				}
				if d := cmp.Diff([]string{".record"}, entries(t, dir)); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

// A waiting upload delays later ones of its space, not those of others, and says why
// it waits.
func TestOrder(t *testing.T) {
	dir := folder(t)
	synctest.Test(t, func(t *testing.T) {
		s := newBank("mail", "other")
		full := true
		s.begin = func(space string) error {
			if full && space == "mail" {
				return fault.New(fault.Unavailable, "kv", "the disk is full")
			}
			return nil
		}
		in := open(t, dir, options(t, s))
		old := accept(t, in, "mail", "", sent{"a.txt", "old"})
		newer := accept(t, in, "mail", "", sent{"a.txt", "new"})
		run(t, in)
		for i := range 3 {
			wait(t, in, accept(t, in, "other", "", notes(i, i+1)...).ID)
		}
		if u, err := in.Get("mail", old.ID); u.State != inbox.Queued || u.Error != "the disk is full" || err != nil {
			t.Error(u, err)
		}
		if u, err := in.Get("mail", newer.ID); u.State != inbox.Queued || u.Error != "" || err != nil {
			t.Error(u, err)
		}
		full = false
		if u := wait(t, in, newer.ID); u.Report.Replaced != 1 {
			t.Errorf("%+v", u)
		}
		if got := s.texts("mail")["file:a.txt"]; got != "new" {
			t.Error(got)
		}
		if d := cmp.Diff(3, len(s.texts("other"))); d != "" {
			t.Error(d)
		}
	})
}

// After a restart uploads run in the order in which they were accepted.
func TestOrderAfterRestart(t *testing.T) {
	s := newBank("mail")
	dir := folder(t)
	var want []string
	for i := range 4 {
		in := open(t, dir, options(t, s))
		for j := range 3 {
			text := fmt.Sprintf("edition %d%d", i, j)
			want = append(want, accept(t, in, "mail", "", sent{"a.txt", text}).ID)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var got []string
	o := options(t, s)
	o.Observer.Moved = func(u inbox.Upload) {
		mu.Lock()
		defer mu.Unlock()
		if u.State == inbox.Running {
			got = append(got, u.ID)
		}
	}
	in := open(t, dir, o)
	stop := run(t, in)
	wait(t, in, want[len(want)-1])
	stop()
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if text := s.texts("mail")["file:a.txt"]; text != "edition 32" {
		t.Error(text)
	}
}

// Run stops within a batch when ctx ends, and the next Run starts the upload again.
func TestRunEnds(t *testing.T) {
	s := newBank("mail")
	in := open(t, folder(t), options(t, s))
	u := accept(t, in, "mail", "", notes(0, 9)...)
	ctx, cancel := context.WithCancel(context.Background())
	s.before = func(key string) {
		if strings.HasSuffix(key, "n04.txt") {
			cancel()
		}
	}
	if err := in.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if got, _ := in.Get("mail", u.ID); got.State != inbox.Queued || got.Error != "" || got.Report.Added != 3 || len(s.texts("mail")) != 3 {
		t.Errorf("%+v, %v", got, s.texts("mail"))
	}
	run(t, in)
	if got := wait(t, in, u.ID); got.State != inbox.Done || got.Report.Added != 6 || got.Report.Unchanged != 3 {
		t.Errorf("%+v", got)
	}
}

func TestRunTwice(t *testing.T) {
	s := newBank("mail")
	in := open(t, folder(t), options(t, s))
	begun, end := make(chan struct{}), make(chan struct{})
	s.begin = func(string) error { close(begun); <-end; return nil }
	accept(t, in, "mail", "", notes(0, 1)...)
	run(t, in)
	<-begun
	if err := in.Run(context.Background()); kind(err) != fault.Conflict {
		t.Error(err)
	}
	close(end)
}

// Open logs and deletes records that are damaged, leaves a folder of a newer version
// as it is, and keeps what is not the inbox's.
func TestOpenOdd(t *testing.T) {
	s := newBank("mail", "gone")
	dir := folder(t)
	in := open(t, dir, options(t, s))
	good := accept(t, in, "mail", "", notes(0, 1)...)
	bad := accept(t, in, "mail", "", notes(1, 2)...)
	moved := accept(t, in, "mail", "", notes(2, 3)...)
	dropped := accept(t, in, "gone", "", notes(3, 4)...)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	b, err := os.ReadFile(file(bad.ID + ".record"))
	if err != nil {
		t.Fatal(err)
	}
	newer := file(strings.Repeat("0", 32) + ".record")
	if err := errors.Join(
		os.WriteFile(file(bad.ID+".record"), b[:len(b)-1], 0o600),
		os.Rename(file(moved.ID+".record"), file(strings.Repeat("a", 32)+".record")),
		os.Rename(file(moved.ID+".spool"), file(strings.Repeat("a", 32)+".spool")),
		os.WriteFile(file("Uw.record"), []byte("oh"), 0o600),
		os.WriteFile(file("notes.txt"), []byte("somebody's own"), 0o600),
		os.WriteFile(file(strings.Repeat("b", 32)+".spool"), []byte("half"), 0o600),
		os.WriteFile(file(strings.Repeat("b", 32)+".body.part"), []byte("half"), 0o600),
		os.WriteFile(newer, inbox.Newer(strings.Repeat("0", 32)), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	before := entries(t, dir)
	if _, err := inbox.OpenOn(dir, options(t, s), nil); kind(err) != fault.Unsupported {
		t.Error(err)
	}
	if d := cmp.Diff(before, entries(t, dir)); d != "" {
		t.Error("a folder of a newer percached was changed", d)
	}
	if err := os.Remove(newer); err != nil {
		t.Fatal(err)
	}
	delete(s.spaces, "gone")
	log := &journal{}
	o := options(t, s)
	o.Logger = log.logger()
	in = open(t, dir, o)
	if n := strings.Count(log.String(), "level=ERROR"); n != 3 || !strings.Contains(log.String(), bad.ID) {
		t.Error(log)
	}
	if d := cmp.Diff([]string{".record", ".spool", "notes.txt"}, entries(t, dir)); d != "" {
		t.Error(d)
	}
	if _, err := in.Get("gone", dropped.ID); kind(err) != fault.NotFound {
		t.Error(err)
	}
	run(t, in)
	if u := wait(t, in, good.ID); u.State != inbox.Done {
		t.Error(u)
	}
}

// An upload that fails because its space is being forgotten is not logged.
func TestSpaceGoesFirst(t *testing.T) {
	sh := newBank("mail")
	sh.begin = func(string) error {
		sh.mu.Lock()
		defer sh.mu.Unlock()
		delete(sh.spaces, "mail")
		return fault.New(fault.NotFound, "bank", "there is no space %q", "mail")
	}
	var log bytes.Buffer
	o := options(t, sh)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	in := open(t, folder(t), o)
	stop := run(t, in)
	if u := wait(t, in, accept(t, in, "mail", "", notes(0, 1)...).ID); u.State != inbox.Failed || !u.Dropped || !strings.Contains(u.Error, "no space") {
		t.Errorf("%+v", u)
	}
	stop()
	if log.Len() > 0 {
		t.Errorf("it is logged: %s", &log)
	}
}
