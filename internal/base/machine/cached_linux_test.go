package machine

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What was just written is in memory, and what the system was told to forget is not.
func TestCached(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	parts := []Part{{Offset: 100, Size: 5000}, {Offset: 1<<20 - 10, Size: 1 << 30}, {Offset: 2 << 20, Size: 1}}
	if n, ok := Cached(path, parts); !ok || n != 5010 {
		t.Errorf("%d bytes (%v) in memory, want 5010", n, ok)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const dontNeed = 4 // POSIX_FADV_DONTNEED
	if _, _, e := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0); f.Sync() != nil || e != 0 {
		t.Skipf("the file system does not write: %v", e)
	}
	syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0)
	if n, ok := Cached(path, parts); !ok || n == 5010 {
		t.Skipf("this file system keeps files in memory: %d bytes", n)
	}
	if _, ok := Cached(filepath.Join(t.TempDir(), "none"), parts); ok {
		t.Error("a file that does not exist is in memory")
	}
}
