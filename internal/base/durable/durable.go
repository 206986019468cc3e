package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Unfinished is the suffix of a file that Write has not finished. The next Write of that file
// overwrites it.
const Unfinished = ".new"

// Write replaces a file, readable for its owner only. When it returns nil, the file and its
// name are on the disk. The caller must exclude other writers.
func Write(path string, b []byte) error {
	part := path + Unfinished
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return Folder(filepath.Dir(path))
}

// Folder waits until the names in a folder are on the disk, on systems that support it.
func Folder(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// Full is the error of a disk with too little free space. It wraps ENOSPC.
type Full struct{ Needs int64 } // bytes that must be free; 0: not known

func (f *Full) Error() string {
	const mib = 1 << 20
	if f.Needs <= 0 {
		return "the disk is full"
	}
	return fmt.Sprintf("the disk is full: %d MiB must be free", (f.Needs+mib-1)/mib)
}

func (*Full) Unwrap() error { return syscall.ENOSPC }

// Room returns a Full if writing n bytes would leave less than keep bytes free on the disk of a
// folder. If the free space is unknown, it returns nil.
func Room(dir string, n, keep int64) error {
	if free, known := Free(dir); known && free-n < keep {
		return fmt.Errorf("%w, and %d MiB are", &Full{n + keep}, free>>20)
	}
	return nil
}
