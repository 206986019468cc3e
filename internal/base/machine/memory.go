package machine

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Part is a part of a file.
type Part struct{ Offset, Size int64 }

// Where Linux says what memory there is.
const (
	memoryInfo   = "/proc/meminfo"
	processGroup = "/proc/self/cgroup"
	groupRoot    = "/sys/fs/cgroup"
	pressureFile = "/proc/pressure/memory"
)

// Memory returns the memory that this process may use: the machine's, or the lowest limit of its
// control groups; 0 if unknown.
func Memory() int64 {
	all := This().MemoryBytes
	for _, dir := range controlGroups(processGroup, groupRoot) {
		if g := readGroup(dir); g.limit < unlimited {
			all = min(all, g.limit)
		}
	}
	return all
}

// Available is how many bytes this process may still allocate, by the machine and its control
// groups; negative if unknown.
func Available() int64 {
	best := int64(-1)
	if v := lineValue(memoryInfo, "MemAvailable:"); v > 0 {
		best = v * 1024
	}
	for _, dir := range controlGroups(processGroup, groupRoot) {
		if left, ok := groupLeft(dir); ok && (best < 0 || left < best) {
			best = left
		}
	}
	return best
}

// Stalled is the share (0-1) of the last 10 seconds in which all work waited for memory: in a
// control group of this process, or on the machine. It is negative if unknown.
func Stalled() float64 {
	best := stalled(pressureFile)
	for _, dir := range controlGroups(processGroup, groupRoot) {
		best = max(best, stalled(filepath.Join(dir, "memory.pressure")))
	}
	return best
}

// stalled reads the line "full avg10=1.23 ..." of a file of pressure stall information.
func stalled(file string) float64 {
	b, _ := os.ReadFile(file)
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "full" {
			continue
		}
		percent, ok := strings.CutPrefix(fields[1], "avg10=")
		if v, err := strconv.ParseFloat(percent, 64); ok && err == nil && v >= 0 {
			return min(v/100, 1)
		}
	}
	return -1
}

// controlGroups are the folders of the process's memory groups up to the root, for both
// kernel interfaces.
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

// unlimited is the lowest value that means no limit in version 1.
const unlimited = 1 << 60

// group is the memory of a control group.
type group struct {
	limit, used int64 // limit: unlimited and more means none
	cache       int64 // part of used that the kernel can free
}

// readGroup reads a control group of either version. In the second, the kernel slows a group down
// above memory.high and ends its processes at memory.max.
func readGroup(dir string) group {
	g := group{limit: math.MaxInt64}
	read := func(limits []string, usage, cache, shared string) {
		used, ok := readInt(filepath.Join(dir, usage))
		if !ok {
			return
		}
		for _, name := range limits {
			if n, ok := readInt(filepath.Join(dir, name)); ok {
				g.limit = min(g.limit, n)
			}
		}
		stat := filepath.Join(dir, "memory.stat")
		// The numbers are counted separately and may be inconsistent.
		g.used, g.cache = used, max(0, min(used, lineValue(stat, cache)-lineValue(stat, shared)))
	}
	read([]string{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_cache ", "total_shmem ")
	read([]string{"memory.max", "memory.high"}, "memory.current", "file ", "shmem ")
	return g
}

// groupLeft is a group's limit minus its usage without page cache.
func groupLeft(dir string) (int64, bool) {
	g := readGroup(dir)
	if g.limit >= unlimited {
		return 0, false
	}
	return max(0, g.limit-g.used+g.cache), true
}

// lineValue finds "name value" in a file of such lines; 0 if it is missing.
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
