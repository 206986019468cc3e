//go:build linux || darwin || freebsd

package main

import (
	"syscall"
	"time"
)

// processorTime is the processor time of this process on all cores.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
