//go:build linux || darwin || freebsd

package retrieval

import "syscall"

// freeBytes is what may still be written to the disk that holds dir.
func freeBytes(dir string) (n int64, ok bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(uint64(s.Bavail) * uint64(s.Bsize)), true
}
