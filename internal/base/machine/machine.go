package machine

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine is where this process runs.
type Machine struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	CPUs        int    `json:"cpus"`
	MemoryBytes int64  `json:"memory_bytes"` // 0: not known
}

// This describes the machine of this process.
func This() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	info, _ := os.ReadFile("/proc/meminfo") // Linux alone has it
	for line := range strings.Lines(string(info)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kib); n == 1 {
			m.MemoryBytes = kib << 10
			break
		}
	}
	return m
}

// Memory is what this process can have of the machine's memory at most; 0: not
// known.
func Memory() int64 {
	all := This().MemoryBytes
	if n := groupLimit("/sys/fs/cgroup/memory.max"); n > 0 {
		all = min(all, n)
	}
	return all
}

// groupLimit is what the process's control group allows; 0: it has no limit, or
// nobody says.
func groupLimit(file string) int64 {
	b, _ := os.ReadFile(file)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64) // "max" is no number
	return n
}
