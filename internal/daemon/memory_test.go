package daemon

import (
	"context"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// The limit follows the live heap, so that a large store is not collected all the time. At
// the end the old limit is restored.
func TestLimitMemory(t *testing.T) {
	if got, want := memoryLimit(256<<20, 100<<20), int64(512<<20); got != want {
		t.Errorf("%d, want %d", got, want)
	}
	if got, want := memoryLimit(256<<20, 4<<30), int64(6<<30); got != want {
		t.Errorf("%d, want %d", got, want)
	}
	before := debug.SetMemoryLimit(-1)
	t.Setenv("GOMEMLIMIT", "1GiB")
	limitMemory(t.Context(), 1<<20, nil) // returns at once
	if got := debug.SetMemoryLimit(-1); got != before {
		t.Errorf("the environment's limit became %d", got)
	}
	t.Setenv("GOMEMLIMIT", "")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		go limitMemory(ctx, 256<<20, make(chan time.Time))
		synctest.Wait()
		if got := debug.SetMemoryLimit(-1); got < 512<<20 || got >= before {
			t.Errorf("the limit is %d", got)
		}
		cancel()
		synctest.Wait()
	})
	if got := debug.SetMemoryLimit(-1); got != before {
		t.Errorf("the limit stays %d", got)
	}
}
