//go:build !(linux || darwin || freebsd)

package home

import (
	"os"
	"path/filepath"

	"github.com/percached/percached/internal/base/fault"
)

// Lock opens the lock file. On this system, only the databases' own locks exclude other
// processes.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	return f, nil
}

// Locked says that a process uses the folder, which is not known on this system: it says whether
// one may.
func Locked(dir string) bool { return Exists(filepath.Join(dir, "lock")) }
