package llmtest

import (
	"sync"
	"time"
)

// Clock is the time that a fake's work takes. Wall belongs into a synctest
// bubble, where time is virtual and other goroutines see it pass; Virtual needs
// no bubble and never waits.
type Clock interface {
	Now() time.Time
	Sleep(d time.Duration)
}

// Wall is the clock of package time.
type Wall struct{}

// Now is time.Now.
func (Wall) Now() time.Time { return time.Now() }

// Sleep is time.Sleep; nothing is waited for when d is zero.
func (Wall) Sleep(d time.Duration) {
	if d > 0 {
		time.Sleep(d)
	}
}

// Virtual is a clock that moves only when somebody sleeps on it. The zero
// Virtual starts at the zero time.
type Virtual struct {
	mu  sync.Mutex
	now time.Time
}

// Now is the sum of all sleeps.
func (v *Virtual) Now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// Sleep moves the clock by d and returns at once.
func (v *Virtual) Sleep(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = v.now.Add(d)
}

// Costs is what a fake's work takes on its Clock.
type Costs struct {
	Compute time.Duration // per prompt token computed
	Decode  time.Duration // per answer token
	Restore time.Duration // per KiB of slices restored
	Capture time.Duration // per KiB of slices captured
	Embed   time.Duration // per text
}

func perKiB(cost time.Duration, bytes int64) time.Duration {
	return time.Duration(int64(cost) * bytes / 1024)
}
