//go:build linux || darwin || freebsd

package kv

import (
	"io/fs"
	"os"
	"syscall"
)

// isLocked says whether another process holds badger's lock on dir.
func isLocked(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

// AllocatedBytes is the disk space of a file, which may have holes.
func AllocatedBytes(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(s.Blocks) * 512
	}
	return info.Size()
}
