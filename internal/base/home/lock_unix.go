//go:build linux || darwin || freebsd

package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// A process that is killed while it starts another leaves the lock with that one, until the
// system has replaced its program. That takes less than handOver.
const (
	handOver = 5 * time.Second
	again    = 10 * time.Millisecond
)

// Lock locks a file for this process, and creates it. The error is InUse if another process
// locked it. The system releases the lock when the file is closed or the process ends.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil, fault.New(fault.Unavailable, op, "cannot write %s: %w; make the folder and its content yours", filepath.Dir(path), err)
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	err = tryLock(f)
	for patience := handOver; errors.Is(err, syscall.EWOULDBLOCK) && patience > 0 && killed(path); patience -= again {
		time.Sleep(again)
		err = tryLock(f)
	}
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		who := "another process"
		if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
			who = "process " + strings.TrimSpace(string(b))
		}
		f.Close()
		return nil, fault.New(fault.Conflict, op, "%w", &InUse{who, filepath.Dir(path)})
	case err != nil:
		f.Close()
		return nil, fault.New(fault.Unavailable, op, "%s: %w", path, err)
	}
	if f.Truncate(0) == nil { // the number for InUse.Who
		fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	return f, nil
}

func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// Locked says that a process uses the folder.
func Locked(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// killed says that the process that locked the file last exists no longer.
func killed(path string) bool {
	b, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	return err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
