package inbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/ingest"
)

func TestAccept(t *testing.T) {
	s := newBank("mail")
	o := options(t, s)
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	o.Now = func() time.Time { return now }
	var mu sync.Mutex
	var moves []inbox.State
	o.Observer.Moved = func(u inbox.Upload) {
		mu.Lock()
		defer mu.Unlock()
		moves = append(moves, u.State)
	}
	var taking, taken atomic.Int32
	o.Taking = func() func() {
		taking.Add(1)
		return func() { taking.Add(-1); taken.Add(1) }
	}
	s.before = func(string) {
		if n := taking.Load(); n != 1 {
			t.Errorf("a document comes in while %d uploads are said to be taken in", n)
		}
	}
	dir := folder(t)
	in := open(t, dir, o)
	files := append(notes(0, 5), sent{"empty.txt", ""})
	got := accept(t, in, "mail", "k", files...)
	want := inbox.Upload{ID: got.ID, Space: "mail", Key: "k", State: inbox.Queued, Accepted: now, Files: 6, Bytes: inbox.Spooled(in)}
	if d := cmp.Diff(want, got); d != "" || len(got.ID) != 32 || got.Bytes < 100 {
		t.Error(d, got)
	}
	if d := cmp.Diff([]string{".record", ".spool"}, entries(t, dir)); d != "" {
		t.Error(d)
	}
	for _, path := range []string{dir, filepath.Join(dir, got.ID+".spool"), filepath.Join(dir, got.ID+".record")} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Error(path, info.Mode(), err)
		}
	}
	stop := run(t, in)
	ended := wait(t, in, got.ID)
	if taking.Load() != 0 || taken.Load() != 1 {
		t.Errorf("it has ended, and %d are said to be taken in, %d to have been", taking.Load(), taken.Load())
	}
	want.State, want.Ended, want.Read = inbox.Done, now, want.Bytes
	want.Report = ingest.Report{Added: 5, Failed: 1, Failures: []ingest.Failure{{Name: "empty.txt", Reason: "invalid"}}}
	if d := cmp.Diff(want, ended); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(documentsOf(notes(0, 5)), s.texts("mail")); d != "" {
		t.Error(d)
	}
	stop()
	if d := cmp.Diff([]inbox.State{inbox.Queued, inbox.Running, inbox.Done}, moves); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{".record"}, entries(t, dir)); d != "" || inbox.Spooled(in) != 0 {
		t.Error(d, inbox.Spooled(in))
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	// The next process lists it, and does not run it again.
	in = open(t, dir, o)
	if d := cmp.Diff([]inbox.Upload{ended}, in.List("mail", 10)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(ended, wait(t, in, got.ID)); d != "" || len(s.adds) != 1 {
		t.Error(d, s.adds)
	}
}

// A refused upload leaves nothing, and does not hinder the next.
func TestAcceptRefuses(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	gone2, cancel2 := context.WithCancel(context.Background())
	long := strings.Repeat("n", 1025)
	whole := sent{"a.txt", strings.Repeat("word ", 20_000)} // of more than one piece
	for _, tc := range []struct {
		name  string
		ctx   context.Context
		space string
		key   string
		each  func(take inbox.Take) error
		kind  fault.Kind
		is    error
	}{
		{name: "no files", each: each(), kind: fault.Invalid},
		{name: "no such space", space: "none", each: each(whole), kind: fault.NotFound},
		{name: "long key", key: strings.Repeat("k", 257), each: each(whole), kind: fault.Invalid},
		{name: "odd key", key: "a\nb", each: each(whole), kind: fault.Invalid},
		{name: "no name", each: each(whole, sent{"", "b"}), kind: fault.Invalid},
		{name: "long name", each: each(whole, sent{long, "b"}), kind: fault.Invalid},
		{name: "NUL", each: each(whole, sent{"a\x00.txt", "b"}), kind: fault.Invalid},
		{name: "line end", each: each(whole, sent{"a\n.txt", "b"}), kind: fault.Invalid},
		{name: "no UTF-8", each: each(whole, sent{"\xff.txt", "b"}), kind: fault.Invalid},
		{name: "too many files", each: each(notes(0, 11)...), kind: fault.Invalid},
		{name: "more than there is room for", each: each(whole, whole, whole), kind: fault.Overloaded},
		{name: "sender breaks off", is: errBody, kind: fault.Internal, each: func(take inbox.Take) error {
			return take("a.txt", broken(whole.text, errBody))
		}},
		{name: "sender's error has a kind", is: errBody, kind: fault.Timeout, each: func(take inbox.Take) error {
			return take("a.txt", broken(whole.text, fault.New(fault.Timeout, "body", "%w", errBody)))
		}},
		{name: "sender sends nothing", is: io.ErrNoProgress, kind: fault.Internal, each: func(take inbox.Take) error {
			return take("a.txt", readFunc(func([]byte) (int, error) { return 0, nil }))
		}},
		{name: "each fails behind the files", is: errBody, kind: fault.Internal, each: func(take inbox.Take) error {
			return errors.Join(each(whole)(take), errBody)
		}},
		{name: "each makes nothing of an error", is: errBody, kind: fault.Internal, each: func(take inbox.Take) error {
			take("a.txt", broken("a", errBody))
			take("b.txt", strings.NewReader("b"))
			return nil
		}},
		{name: "room that each makes nothing of", kind: fault.Overloaded, each: func(take inbox.Take) error {
			for range 3 {
				each(whole)(take)
			}
			return errBody
		}},
		{name: "ctx ends while it is sent", ctx: gone, kind: fault.Timeout, is: context.Canceled, each: func(take inbox.Take) error {
			cancel()
			return each(whole)(take)
		}},
		{name: "ctx ends within an endless file", ctx: gone2, kind: fault.Timeout, is: context.Canceled, each: func(take inbox.Take) error {
			return take("a.txt", readFunc(func(p []byte) (int, error) { cancel2(); return 1, nil }))
		}},
		{name: "ctx ended behind the files", ctx: gone, kind: fault.Timeout, is: context.Canceled, each: func(take inbox.Take) error {
			each(whole)(take)
			return nil
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newBank("mail")
			o := options(t, s)
			o.MaxFiles, o.MaxBytes = 10, 250_000
			dir := folder(t)
			in := open(t, dir, o)
			if tc.ctx == nil {
				tc.ctx = context.Background()
			}
			if tc.space == "" {
				tc.space = "mail"
			}
			u, err := in.Accept(tc.ctx, tc.space, tc.key, tc.each)
			if kind(err) != tc.kind || tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%+v, %v", u, err)
			}
			if left := entries(t, dir); len(left) != 0 || inbox.Spooled(in) != 0 || len(in.List("mail", 10)) != 0 {
				t.Error("something is left", left, inbox.Spooled(in))
			}
			if err != nil && strings.Contains(err.Error(), dir) {
				t.Error("it names the folder:", err)
			}
			accept(t, in, "mail", "k", whole, whole)
		})
	}
}

// File names never decide what is read or written on disk.
func TestHostileNames(t *testing.T) {
	s := newBank("mail")
	root := t.TempDir()
	dir := filepath.Join(root, "inbox")
	in := open(t, dir, options(t, s))
	files := []sent{
		{"../../escape.txt", "one"},
		{"/etc/passwd", "two"},
		{`C:\windows\win.ini`, "three"},
		{"..", "four"},
		{".", "five"},
		{"-rf", "six"},
		{"CON", "seven"},
		{strings.Repeat("ü", 512), "eight"},
		{" ", "nine"},
		{"%2e%2e%2fa", "ten"},
		{"a/../../b", "eleven"},
		{"$(id)", "twelve"},
	}
	u := accept(t, in, "mail", "", files...)
	run(t, in)
	if got := wait(t, in, u.ID); got.Report.Added != len(files) || got.State != inbox.Done {
		t.Errorf("%+v", got)
	}
	if d := cmp.Diff(documentsOf(files), s.texts("mail")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"inbox"}, entries(t, root)); d != "" {
		t.Error(d)
	}
}

func TestRoom(t *testing.T) {
	s := newBank("mail", "other")
	o := options(t, s)
	o.MaxBytes, o.MaxQueued = 10, 3
	in := open(t, folder(t), o)
	first := accept(t, in, "mail", "", sent{"a.txt", "four"})
	accept(t, in, "other", "", sent{"a.txt", "four"})
	for _, files := range [][]sent{{{"a.txt", "abc"}}, {{"a.txt", "a"}, {"b.txt", "bc"}}} {
		if _, err := in.Accept(context.Background(), "other", "", each(files...)); kind(err) != fault.Overloaded {
			t.Error(err)
		}
	}
	accept(t, in, "other", "", sent{"a.txt", "ab"}) // it fits
	if _, err := in.Accept(context.Background(), "other", "", each(sent{"a.txt", ""})); kind(err) != fault.Overloaded {
		t.Error("more than may wait:", err)
	}
	run(t, in)
	wait(t, in, first.ID)
	for _, u := range in.List("other", 10) {
		wait(t, in, u.ID)
	}
	if inbox.Spooled(in) != 0 {
		t.Error(inbox.Spooled(in))
	}
	accept(t, in, "other", "", sent{"a.txt", "tencharact"})
}

// An upload that would fill the disk is refused and leaves nothing: a full disk keeps
// the databases from opening.
func TestFullDisk(t *testing.T) {
	s := newBank("mail")
	o := options(t, s)
	o.MinFree = math.MaxInt64 / 2
	dir := folder(t)
	in := open(t, dir, o)
	_, err := in.Accept(context.Background(), "mail", "", each(sent{"a.txt", "four"}))
	if kind(err) != fault.Unavailable || !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if left := entries(t, dir); len(left) > 0 || inbox.Spooled(in) != 0 {
		t.Error(left, inbox.Spooled(in))
	}
}

// A large upload is written to disk as it comes.
func TestLargeStream(t *testing.T) {
	s := newBank("mail")
	in := open(t, folder(t), options(t, s))
	const size = 64 << 20
	line := bytes.Repeat([]byte("words of no mail at all\n"), 1000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	u, err := in.Accept(context.Background(), "mail", "", func(take inbox.Take) error {
		return take("large.mbox", io.LimitReader(readFunc(func(p []byte) (int, error) {
			return copy(p, line), nil
		}), size))
	})
	runtime.ReadMemStats(&after)
	if err != nil || u.Bytes != size {
		t.Error(u.Bytes, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("%d bytes of memory for an upload of %d", got, size)
	}
}

func TestGetListWait(t *testing.T) {
	s := newBank("mail", "other")
	in := open(t, folder(t), options(t, s))
	var ids []string
	for i := range 5 {
		ids = append(ids, accept(t, in, "mail", "", notes(i, i+1)...).ID)
	}
	others := accept(t, in, "other", "", notes(0, 1)...)
	if _, err := in.Get("mail", others.ID); kind(err) != fault.NotFound {
		t.Error("another's upload:", err)
	}
	_, unknown := in.Get("mail", strings.Repeat("0", 32))
	if _, err := in.Get("mail", others.ID); err.Error() != unknown.Error() {
		t.Error("it shows that there is one:", err, unknown)
	}
	got := in.List("mail", 3)
	if d := cmp.Diff([]string{ids[4], ids[3], ids[2]}, []string{got[0].ID, got[1].ID, got[2].ID}); d != "" || len(got) != 3 {
		t.Error(d)
	}
	for n, want := range map[int]int{0: 0, -1: 0, 5: 5, 1000: 5} {
		if got := in.List("mail", n); len(got) != want || got == nil {
			t.Error(n, got)
		}
	}
	if n := in.Waiting(); n != 6 {
		t.Errorf("%d wait in all", n)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := in.Wait(gone, ids[0]); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := in.Wait(context.Background(), "none"); kind(err) != fault.NotFound {
		t.Error(err)
	}
	waiting := make(chan error)
	go func() {
		_, err := in.Wait(context.Background(), ids[0])
		waiting <- err
	}()
	if err := errors.Join(in.Close(), in.Close()); err != nil {
		t.Error(err)
	}
	if err := <-waiting; kind(err) != fault.Unavailable {
		t.Error(err)
	}
	if _, err := in.Accept(context.Background(), "mail", "", each(notes(0, 1)...)); kind(err) != fault.Unavailable {
		t.Error(err)
	}
}

// Close refuses uploads that are being sent, and waits for their senders.
func TestCloseWhileSending(t *testing.T) {
	s := newBank("mail")
	dir := folder(t)
	in := open(t, dir, options(t, s))
	begun, closed := make(chan struct{}), make(chan error, 1)
	go func() {
		<-begun
		closed <- in.Close()
	}()
	_, err := in.Accept(context.Background(), "mail", "", func(take inbox.Take) error {
		close(begun)
		return take("a.txt", readFunc(func(p []byte) (int, error) { return len(p), nil })) // without end
	})
	if kind(err) != fault.Unavailable {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if left := entries(t, dir); len(left) > 0 {
		t.Error(left)
	}
}

func TestValidate(t *testing.T) {
	err := inbox.Options{MaxBytes: -1, MinFree: -1, MaxQueued: -1, MaxFiles: -1, Turn: -1, Keep: -1, KeepCount: -1}.Validate()
	if n := strings.Count(err.Error(), "\n"); n != 16 {
		t.Errorf("%d faults are told:\n%v", n+1, err)
	}
	if _, err := inbox.OpenOn(folder(t), inbox.Default(), nil); kind(err) != fault.Invalid {
		t.Error(err)
	}
	o := options(t, newBank())
	if d := cmp.Diff(nil, o.Validate(), cmpopts.EquateErrors()); d != "" {
		t.Error(d)
	}
}
