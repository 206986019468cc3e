//go:build linux || darwin || freebsd

package follow

import (
	"io/fs"
	"syscall"
)

// device is the number of the file system that a file is on.
func device(info fs.FileInfo) (n uint64, known bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(s.Dev), true //nolint:unconvert // int32 on some systems
}
