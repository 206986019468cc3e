//go:build linux || darwin || freebsd

package pull

import (
	"errors"
	"os"
	"syscall"
)

// lock takes a file for this process; the system lets go of it when the process
// ends, however it ends. With wait it waits for who has it.
func lock(f *os.File, wait bool) (took bool, err error) {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err = syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
