package follow

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// quick are times for tests. Only events lead to a pass.
func quick() Times {
	return Times{Quiet: time.Millisecond, Longest: time.Second, Poll: time.Millisecond, Sure: time.Hour, Retry: time.Millisecond}
}

// A file that cannot be read keeps its documents.
func TestObstacle(t *testing.T) {
	w := newWorld(t)
	w.must()
	w.ok(errors.Join(os.Remove(w.path("a.md")), syscall.Mkfifo(w.path("a.md"), 0o600)))
	if r := w.must(); w.holds() != all || len(r.Blocked) != 1 {
		t.Errorf("%s, %+v", w.holds(), r)
	}
}

// Each change leads to a pass, also in folders that are made later.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) func() error {
		return func() error {
			path := filepath.Join(dir, name)
			return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), 0o600))
		}
	}
	append1 := func() error {
		f, err := os.OpenFile(filepath.Join(dir, "a"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString("more")
		return errors.Join(err, f.Close())
	}
	steps := []func() error{
		write("a"), append1, write("deep/b"), write("deep/c"),
		func() error { return os.Rename(filepath.Join(dir, "deep", "c"), filepath.Join(dir, "c")) },
		func() error { return os.Remove(filepath.Join(dir, "deep", "b")) },
	}
	watcher, err := NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	// The state of the folder when it was looked at last, and a step as soon as it is seen.
	last, next := "", 0
	err = Watch(ctx, watcher, quick(), func(context.Context) error {
		now := ""
		err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			if err == nil && info.IsDir() {
				watcher.Folder(path)
			}
			if err == nil && !info.IsDir() {
				now += path + info.ModTime().String()
			}
			return nil
		})
		if err != nil || now == last && next > 0 {
			return err
		}
		last = now
		if next == len(steps) {
			stop()
			return nil
		}
		next++
		return steps[next-1]()
	}, func(err error) { t.Error(err) })
	if err != nil || next != len(steps) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("%d of %d steps: %v", next, len(steps), err)
	}
	if watcher.Blind() {
		t.Error("it does not see")
	}
}

// Watch goes on after an error that passes, and says once that it waits.
func TestWatchWaits(t *testing.T) {
	watcher, err := NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	for _, tc := range []struct {
		kind    fault.Kind
		passes  int
		waiting int
	}{{fault.Unavailable, 4, 1}, {fault.Overloaded, 4, 1}, {fault.NotFound, 1, 0}} {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		passes, waiting := 0, 0
		err := Watch(ctx, watcher, quick(), func(context.Context) error {
			if passes++; passes == 4 {
				stop()
				return nil
			}
			return fault.New(tc.kind, "test", "it fails")
		}, func(error) { waiting++ })
		stop()
		if passes != tc.passes || waiting != tc.waiting || (err == nil) != (tc.waiting == 1) {
			t.Errorf("%v: %d passes, waiting %d: %v", tc.kind, passes, waiting, err)
		}
	}
}
