package token

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// source is a token file, with advice for each reason that it cannot be used.
type source struct {
	name    string
	limit   int64  // bytes
	exposed string // advice if other users can access it
	damaged string // advice if its content is invalid
	moved   string // advice if it is not a regular file
}

var (
	mainSource = source{
		mainFile, maxMain, "run percached token revoke main to replace it", "run percached token revoke main to replace it",
		"move it away, and percached creates a new token",
	}
	listSource = source{
		listFile, maxList, "run chmod 600 on it, and revoke the tokens that you did not create",
		"move it away, and create its tokens again with percached token create", "move it away, and create its tokens again with percached token create",
	}
)

// unusable makes an error that says why a file cannot be used and what to do.
func unusable(kind fault.Kind, path string, why error, cure string) error {
	return fault.New(kind, "token.read", "cannot use %s: %w; %s", path, why, cure)
}

// read reads a file that only its owner can access. If it is missing, the error is
// fs.ErrNotExist.
func (s *Store) read(from source) ([]byte, os.FileInfo, error) {
	path := s.path(from.name)
	refuse := func(cure, format string, args ...any) error {
		return unusable(fault.Unavailable, path, fmt.Errorf(format, args...), cure)
	}
	unread := func(err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.NotFound, "token.read", "%w", err)
		}
		if p, ok := errors.AsType[*fs.PathError](err); ok { // its text repeats the file name
			err = p.Err
		}
		return unusable(fault.Unavailable, path, err, "make it readable for the user that runs percached, or "+from.moved)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, nil, unread(err)
	case !info.Mode().IsRegular(): // check before opening; a pipe would block
		return nil, info, refuse(from.moved, "it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, info, unread(err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if info, err = f.Stat(); err != nil {
		return nil, nil, unread(err)
	}
	if isExposed(info) {
		return nil, info, refuse(from.exposed, "other users can access it (mode %04o)", info.Mode().Perm())
	}
	b, err := io.ReadAll(io.LimitReader(f, from.limit+1))
	switch {
	case err != nil:
		return nil, info, unread(err)
	case int64(len(b)) > from.limit:
		return nil, info, refuse(from.damaged, "it is larger than %d bytes", from.limit)
	}
	return b, info, nil
}

// replace writes a file completely or not at all, for its owner only. When it returns nil, the
// file is durable.
func replace(path string, b []byte) error {
	if err := writeFile(path, b); err != nil {
		return fault.New(fault.Unavailable, "token.replace", "%w", err)
	}
	return nil
}

func writeFile(path string, b []byte) error {
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) { // a file left by a crash may have other permissions
		return err
	}
	f, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = durable.ChownToFolderOwner(f)
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
