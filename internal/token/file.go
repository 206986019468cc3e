package token

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/percached/percached/internal/durable"
	"github.com/percached/percached/internal/fault"
)

// read reads a file that is for its owner alone. One that is not there is
// fs.ErrNotExist, one that others can read is Invalid.
func read(path string, limit int64) ([]byte, os.FileInfo, error) {
	const op = "token.read"
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, fault.New(fault.NotFound, op, "%w", err)
	case err != nil:
		return nil, nil, fault.New(fault.Unavailable, op, "%w", err)
	case !info.Mode().IsRegular(): // before it is opened, as a pipe would wait
		return nil, info, fault.New(fault.Unavailable, op, "%s is not a file", path)
	}
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, fault.New(fault.NotFound, op, "%w", err)
	case err != nil:
		return nil, info, fault.New(fault.Unavailable, op, "%w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if info, err = f.Stat(); err != nil {
		return nil, nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	if exposed(info) {
		return nil, info, fault.New(fault.Invalid, op, "%s can be read by others (%v): chmod 600 it, and revoke the tokens that they may have seen", path, info.Mode().Perm())
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, info, fault.New(fault.Unavailable, op, "%w", err)
	case int64(len(b)) > limit:
		return nil, info, fault.New(fault.Unavailable, op, "%s is larger than %d bytes", path, limit)
	}
	return b, info, nil
}

// replace puts a file there whole or not at all, for its owner alone. When it
// returns, the file is durable.
func replace(path string, b []byte) error {
	if err := put(path, b); err != nil {
		return fault.New(fault.Unavailable, "token.replace", "%w", err)
	}
	return nil
}

func put(path string, b []byte) error {
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) { // what a crash left may have other rights
		return err
	}
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = give(f)
	if err == nil {
		_, err = f.Write(b)
	}
	if err == nil {
		err = f.Sync()
	}
	if shut := f.Close(); err == nil {
		err = shut
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return durable.Folder(filepath.Dir(path))
}
