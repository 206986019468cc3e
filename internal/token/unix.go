//go:build linux || darwin || freebsd

package token

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// lock waits for a file and holds it until unlock is called, or the process ends.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case err == nil: // and no link of somebody's: it is given away
		err = give(f)
	case errors.Is(err, fs.ErrExist):
		f, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	if err != nil {
		f.Close() // of none, too
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

// give makes a new file the data folder's owner's, if it is root who made it: else
// that owner's daemon could not read it. Not every root may do that, on every disk;
// then the file stays as it is.
func give(f *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(filepath.Dir(f.Name()))
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	err = f.Chown(int(owner.Uid), int(owner.Gid))
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// exposed says whether others than its owner can do anything with a file.
func exposed(info os.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
