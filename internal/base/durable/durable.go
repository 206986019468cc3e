package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Unfinished ends the name of a file that Write had not finished. The next Write
// of that file begins it anew.
const Unfinished = ".new"

// Write puts a file there for its owner alone. When it returns without an error,
// the file and its name are on the disk. Nobody else may write it meanwhile.
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

// Folder waits until the names in a folder are on the disk, where the system
// knows such a thing.
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
