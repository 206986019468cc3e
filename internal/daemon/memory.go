package daemon

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
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
