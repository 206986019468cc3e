package machine

import "runtime"

// Machine describes the machine of a process.
type Machine struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	CPUs        int    `json:"cpus"`
	MemoryBytes int64  `json:"memory_bytes"` // 0: unknown
}

// This describes the machine of this process.
func This() Machine {
	return Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), MemoryBytes: lineValue(memoryInfo, "MemTotal:") << 10}
}
