//go:build linux || darwin || freebsd

package token

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// lock waits for the lock on a file and holds it until unlock is called or the process ends.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case err == nil: // O_EXCL: the file is new and not a link
		err = chownToFolderOwner(f)
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

// chownToFolderOwner gives a file created by root to the owner of the data folder, because that
// user's daemon must read it. If root may not change the owner on this disk, the file stays as
// it is.
func chownToFolderOwner(f *os.File) error {
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

// isExposed says whether other users have any permission on a file.
func isExposed(info os.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
