package llamacpp

import (
	"os"
	"path/filepath"
	"testing"
)

// A group's limit counts less what it uses, and without the page cache.
func TestGroupLeft(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		left  int64
		ok    bool
	}{
		{"none", nil, 0, false},
		{"second version", map[string]string{"memory.max": "1000\n", "memory.current": "700\n", "memory.stat": "anon 300\nfile 400\n"}, 700, true},
		{"second version, no limit", map[string]string{"memory.max": "max\n", "memory.current": "700\n", "memory.stat": "file 400\n"}, 0, false},
		{"full", map[string]string{"memory.max": "1000", "memory.current": "1100", "memory.stat": "file 0"}, 0, true},
		{"more cache than use", map[string]string{"memory.max": "1000", "memory.current": "700", "memory.stat": "file 800"}, 1000, true},
		{"first version", map[string]string{"memory.limit_in_bytes": "1000", "memory.usage_in_bytes": "700", "memory.stat": "cache 1\ntotal_cache 400"}, 700, true},
		{
			"first version, no limit, more cache than use", // which would be beyond what a number holds
			map[string]string{"memory.limit_in_bytes": "9223372036854771712", "memory.usage_in_bytes": "700", "memory.stat": "total_cache 9000"}, 0, false,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tc.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if left, ok := groupLeft(dir); left != tc.left || ok != tc.ok {
				t.Errorf("%d %v, want %d %v", left, ok, tc.left, tc.ok)
			}
		})
	}
}
