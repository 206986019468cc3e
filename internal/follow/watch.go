package follow

import (
	"context"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// Times of a Watch.
type Times struct {
	// Quiet is how long nothing must happen in the folders before they are compared, Longest
	// the maximum wait for that.
	Quiet, Longest time.Duration
	// Poll is how often folders are compared of which no events come, and Sure how often
	// the others, in case an event was lost.
	Poll, Sure time.Duration
	// Retry is the first wait after an error that may pass; it doubles up to Poll.
	Retry time.Duration
}

// DefaultTimes are for ordinary use.
func DefaultTimes() Times {
	return Times{Quiet: time.Second, Longest: 10 * time.Second, Poll: 15 * time.Second, Sure: 10 * time.Minute, Retry: time.Second}
}

// Watch calls pass now, after each change in the folders that w watches, and again after an
// error that may pass, about which it calls waiting once. It returns nil when ctx ends.
func Watch(ctx context.Context, w *Watcher, t Times, pass func(context.Context) error, waiting func(error)) error {
	retry, told := t.Retry, false
	for {
		err := pass(ctx)
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case err == nil:
			retry, told = t.Retry, false
			if !w.wait(ctx, t) {
				return nil
			}
			continue
		case !MayPass(err):
			return fault.Wrap("follow.Watch", err)
		}
		if !told {
			waiting(err)
			told = true
		}
		if !Sleep(ctx, retry) {
			return nil
		}
		retry = min(2*retry, t.Poll)
	}
}

// MayPass says that percached may answer later: it is restarted, or busy.
func MayPass(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Overloaded, fault.Timeout:
		return true
	}
	return false
}

// wait waits for a change, and until it is over. It returns false if ctx ends.
func (w *Watcher) wait(ctx context.Context, t Times) bool {
	rest := t.Sure
	if w.blind {
		rest = t.Poll
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-w.changed:
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
	longest := time.NewTimer(t.Longest)
	defer longest.Stop()
	for {
		timer.Reset(t.Quiet)
		select {
		case <-w.changed:
		case <-timer.C:
			return true
		case <-longest.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// Sleep waits. It returns false if ctx ends.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
