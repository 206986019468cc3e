package home_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/home"
)

// A process that was killed while it started another leaves the lock with that one for a
// moment. Open waits for it.
func TestLockLeftByTheKilled(t *testing.T) {
	dir := t.TempDir()
	if err := open(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "lock")
	left, err := os.OpenFile(path, os.O_RDWR|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(left.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(left, ended.Process.Pid)

	opened := make(chan error)
	go func() {
		h, err := home.Open(dir, encryption.Source{})
		if err == nil {
			err = h.Close()
		}
		opened <- err
	}()
	for holds(path) < 2 { // until Open has the file too
		select {
		case err := <-opened:
			t.Fatalf("the lock was not free: %v", err)
		default:
			runtime.Gosched()
		}
	}
	left.Close()
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// holds returns how many descriptors of this process refer to a file.
func holds(path string) (n int) {
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && to == path {
			n++
		}
	}
	return n
}
