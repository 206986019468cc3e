//go:build linux || darwin || freebsd

package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// NoFollow makes opening a file fail if its last name is a link, and not wait if it is a pipe.
const NoFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// ChownToFolderOwner gives a file created by root to the owner of its folder, because that
// user's daemon must read it. If root may not change the owner on this disk, the file stays as
// it is.
func ChownToFolderOwner(f *os.File) error {
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
