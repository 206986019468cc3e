package machine

import (
	"os"
	"path/filepath"
	"testing"
)

// A control group may limit the memory, or not.
func TestGroupLimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.max")
	if got := groupLimit(file); got != 0 {
		t.Error(got)
	}
	for text, want := range map[string]int64{"max\n": 0, "536870912\n": 512 << 20} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := groupLimit(file); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
