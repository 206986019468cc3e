//go:build linux || darwin || freebsd

package durable

import "syscall"

// Free returns how many bytes can still be written to the disk of a folder, if known.
func Free(dir string) (n int64, ok bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0, false
	}
	return int64(uint64(s.Bavail) * uint64(s.Bsize)), true
}
