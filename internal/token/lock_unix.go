//go:build linux || darwin || freebsd

package token

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/percached/percached/internal/base/durable"
)

// lock waits for the lock on a file and holds it until unlock is called or the process ends.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case err == nil: // O_EXCL: the file is new and not a link
		err = durable.ChownToFolderOwner(f)
	case errors.Is(err, fs.ErrExist):
		f, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	if err != nil {
		f.Close() // a no-op if f is nil
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

// isExposed says whether other users have any permission on a file.
func isExposed(info os.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
