//go:build linux || darwin || freebsd

package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/percached/percached/internal/base/fault"
)

// lock takes the folder for this process. The system lets go of it when the
// process ends, however it ends.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil, fault.New(fault.Unavailable, op, "%s cannot be written: it must be yours, and so must be what is in it (%w)", filepath.Dir(path), err)
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
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
	if f.Truncate(0) == nil { // who is refused is told the number, if it can be
		fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	return f, nil
}
