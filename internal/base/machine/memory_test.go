package machine

import (
	"os"
	"path/filepath"
	"slices"
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
		{"soft limit", map[string]string{"memory.max": "max", "memory.high": "900\n", "memory.current": "700\n", "memory.stat": "file 400\n"}, 600, true},
		{"shared memory is no cache", map[string]string{"memory.max": "1000", "memory.current": "700", "memory.stat": "file 400\nshmem 150\n"}, 550, true},
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

// A process belongs to its group and to all groups above it.
func TestControlGroups(t *testing.T) {
	self := filepath.Join(t.TempDir(), "cgroup")
	if err := os.WriteFile(self, []byte("4:memory:/a\n2:cpu:/x\n0::/user/b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"/r/memory/a", "/r/memory", "/r/user/b", "/r/user", "/r"}
	if got := controlGroups(self, "/r"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestStalled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.pressure")
	if got := stalled(file); got != -1 {
		t.Errorf("no file: %v", got)
	}
	for text, want := range map[string]float64{
		"some avg10=40.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=12.50 avg60=1.00 avg300=0.00 total=1\n": 0.125,
		"some avg10=40.00 avg60=0.00 avg300=0.00 total=1\n":                                                  -1,
		"full avg10=x\n":   -1,
		"full avg10=250\n": 1,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := stalled(file); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
