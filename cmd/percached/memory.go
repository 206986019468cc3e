package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// memoryEvery is how often the limit of Go's heap follows what lies in it.
const memoryEvery = 10 * time.Second

// limitMemory keeps garbage from taking as much memory as all that is in use, which
// documents that come in would have it take: until ctx ends, the garbage collector
// has a soft limit. Whoever has set one in the environment is left to it.
func limitMemory(ctx context.Context, uploads int64, when <-chan time.Time) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for {
		metrics.Read(live)
		debug.SetMemoryLimit(memoryLimit(uploads, int64(live[0].Value.Uint64())))
		select {
		case <-when:
		case <-ctx.Done():
			return
		}
	}
}

// memoryLimit is the limit where so much is in use. It leaves half as much for
// garbage, or collecting it would take all processors' time.
func memoryLimit(uploads, live int64) int64 { return max(256<<20+uploads, live+live/2) }

// machineMemory is what this process can have of the machine's memory at most; 0: not
// known.
func machineMemory() int64 {
	all := thisMachine().MemoryBytes
	if n := groupMemory("/sys/fs/cgroup/memory.max"); n > 0 {
		all = min(all, n)
	}
	return all
}

// uploadMemory is what documents may take while they come in on a machine with so
// much memory: enough for the largest, and a small part of all.
func uploadMemory(all int64) int64 { return min(max(all/16, 64<<20), 256<<20) }

// groupMemory is what the process's control group allows; 0: it has no limit, or
// nobody says.
func groupMemory(file string) int64 {
	b, _ := os.ReadFile(file)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64) // "max" is no number
	return n
}
