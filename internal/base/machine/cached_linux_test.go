package machine

import (
	"os"
	"path/filepath"
	"testing"
)

// What was just written is in memory. A hole that was never read is not.
func TestCached(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	parts := []Part{{Offset: 100, Size: 5000}, {Offset: 1<<20 - 10, Size: 1 << 30}, {Offset: 2 << 20, Size: 1}}
	if n, ok := Cached(path, parts); !ok || n != 5010 {
		t.Errorf("%d bytes (%v) in memory, want 5010", n, ok)
	}
	if err := os.Truncate(path, 3<<20); err != nil {
		t.Fatal(err)
	}
	hole := []Part{{Offset: 2 << 20, Size: 1 << 20}}
	if n, ok := Cached(path, append(hole, parts[0])); !ok || n != 5000 {
		t.Errorf("%d bytes (%v) in memory, want 5000", n, ok)
	}
	if _, ok := Cached(filepath.Join(t.TempDir(), "none"), parts); ok {
		t.Error("a file that does not exist is in memory")
	}
}
