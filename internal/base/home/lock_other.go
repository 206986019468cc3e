//go:build !(linux || darwin || freebsd)

package home

import (
	"os"

	"github.com/percached/percached/internal/base/fault"
)

// lock opens the lock file. On this system, only the databases' own locks exclude other
// processes.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	return f, nil
}
