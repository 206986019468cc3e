//go:build linux || darwin

package jinja

import "syscall"

// limit asks the system to end this process when it uses more. If that is not possible,
// watch and the caller enforce the limits.
func limit(seconds, memory uint64) {
	_ = syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds})
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	// Go's own memory and the thread stacks count too.
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: 4 * memory, Max: 4 * memory})
}
