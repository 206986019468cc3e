//go:build linux || darwin

package jinja

import "syscall"

// limit has the system end this process when it takes more. Where that is not allowed,
// watch and the caller do.
func limit(seconds, memory uint64) {
	_ = syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds})
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	// Go's own needs and the stacks of threads count, too.
	_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: 4 * memory, Max: 4 * memory})
}
