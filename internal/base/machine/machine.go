package machine

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine describes the machine of a process.
type Machine struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	CPUs        int    `json:"cpus"`
	MemoryBytes int64  `json:"memory_bytes"` // 0: unknown
}

// This describes the machine of this process.
func This() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	info, _ := os.ReadFile("/proc/meminfo") // Linux only
	for line := range strings.Lines(string(info)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kib); n == 1 {
			m.MemoryBytes = kib << 10
			break
		}
	}
	return m
}

// Memory returns the memory that this process may use: the machine's, or the limit of its
// control group; 0 if unknown.
func Memory() int64 {
	all := This().MemoryBytes
	if n := groupLimit("/sys/fs/cgroup/memory.max"); n > 0 {
		all = min(all, n)
	}
	return all
}

// groupLimit returns the memory limit of the process's control group; 0 if there is none or it
// is unknown.
func groupLimit(file string) int64 {
	b, _ := os.ReadFile(file)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64) // "max" gives 0
	return n
}
