//go:build linux || darwin || freebsd

package token

import (
	"errors"
	"os"
	"syscall"
)

// lock waits for a file and holds it until unlock is called, or the process ends.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// exposed says whether others than its owner can do anything with a file.
func exposed(info os.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if shut := d.Close(); err == nil {
		err = shut
	}
	return err
}
