package llamacpp

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// availableMemory is how many bytes this process may still take, by the
// machine's own account and its control groups'; negative when nobody says.
func availableMemory() int64 {
	best := int64(-1)
	if v := lineValue("/proc/meminfo", "MemAvailable:"); v > 0 {
		best = v * 1024
	}
	for _, dir := range controlGroups("/proc/self/cgroup", "/sys/fs/cgroup") {
		if left, ok := groupLeft(dir); ok && (best < 0 || left < best) {
			best = left
		}
	}
	return best
}

// controlGroups are the folders of the process's memory groups, up to the root,
// of both versions of the kernel's interface.
func controlGroups(self, root string) []string {
	b, _ := os.ReadFile(self)
	var dirs []string
	for line := range strings.Lines(string(b)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controller, path, _ := strings.Cut(rest, ":")
		switch controller {
		case "", "memory":
			base := filepath.Join(root, controller)
			for d := filepath.Join(base, path); strings.HasPrefix(d, base); d = filepath.Dir(d) {
				dirs = append(dirs, d)
			}
		}
	}
	return dirs
}

// unlimited is what the first version's limit is beyond where there is none.
const unlimited = 1 << 60

// groupLeft is a group's limit less what it uses; page cache makes way.
func groupLeft(dir string) (int64, bool) {
	for _, v := range [][3]string{
		{"memory.max", "memory.current", "file "},
		{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache "},
	} {
		limit, ok := readInt(filepath.Join(dir, v[0]))
		used, ok2 := readInt(filepath.Join(dir, v[1]))
		if ok && ok2 && limit < unlimited {
			// The two are counted apart, and may not fit each other.
			cache := min(used, lineValue(filepath.Join(dir, "memory.stat"), v[2]))
			return max(0, limit-used+cache), true
		}
	}
	return 0, false
}

// lineValue finds "name value" in a file of such lines; 0 if it is not there.
func lineValue(path, name string) int64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if rest, ok := strings.CutPrefix(sc.Text(), name); ok {
			if fields := strings.Fields(rest); len(fields) > 0 {
				v, _ := strconv.ParseInt(fields[0], 10, 64)
				return v
			}
		}
	}
	return 0
}

func readInt(path string) (int64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	v, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return v, err == nil
}
