package home

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/percached/percached/internal/base/fault"
)

// The parts of a data folder that must be readable. All but the schema may be missing.
var (
	folders = []string{"meta", "tensors", "index", "models", "prompts", "inbox"}
	files   = []string{"schema", "key", "lock", "address", "percached.conf"} // package token checks its own files
)

// Check says why a data folder cannot be used, as far as it can without opening the databases.
// It changes nothing. A missing folder is usable.
func Check(dir string) error {
	const op = "home.Check"
	h := &Home{dir: dir}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && !info.IsDir():
		return fault.New(fault.Unavailable, op, "%s is not a folder; name another with --data", dir)
	}
	if err == nil {
		_, err = os.ReadDir(dir)
	}
	if err != nil {
		return unreadable(op, dir, err)
	}
	if fresh, err := h.isNew(); fresh || err != nil {
		return fault.Wrap(op, err)
	}
	for _, name := range folders {
		if _, err := os.ReadDir(h.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unreadable(op, h.Path(name), err)
		}
	}
	if err := h.checkKeyFile(); err != nil {
		return fault.Wrap(op, err)
	}
	held := map[string][]byte{}
	for _, name := range files {
		if held[name], err = readHead(h.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unreadable(op, h.Path(name), err)
		}
	}
	switch found := versionIn(held["schema"]); {
	case found < 1:
		return fault.New(fault.Unavailable, op, "%s is damaged; restore it from a backup", h.Path("schema"))
	case found > encryptedVersion:
		return newer(op, dir, found)
	case held["key"] != nil && len(held["key"]) != keySize:
		return fault.New(fault.Unavailable, op, "%s is damaged; restore it from a backup, or remove it to compute the stored tensors again", h.Path("key"))
	}
	return nil
}

// readHead reads the first bytes of a file, as much as Check needs.
func readHead(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // reading a pipe would block
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return io.ReadAll(io.LimitReader(f, 4<<10))
}

func unreadable(op, path string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok { // its text repeats the path
		err = p.Err
	}
	return fault.New(fault.Unavailable, op, "cannot read %s: %w; make it readable for the user that runs percached", path, err)
}
