//go:build linux || darwin || freebsd

package pull

import (
	"errors"
	"os"
	"syscall"
)

// lock locks a file until it is closed or the process ends. It returns false if
// another process has locked it.
func lock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
