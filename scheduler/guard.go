package scheduler

import (
	"context"
	"sync"
	"time"
)

// guard holds a job against the rules while it runs, as one may take hours: when
// the device is read again, and when the window or its compute is at an end. What
// runs for an errand is left alone. Relieve ends the guard.
func (s *Scheduler) guard(ctx context.Context, a around, k Kind, begun time.Time) (relieve func()) {
	s.mu.Lock()
	early := s.early
	s.mu.Unlock()
	if early {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		for now := begun; ; {
			fires, stop := s.watch(s.rounds(a, now, begun))
			select {
			case <-fires:
			case <-ctx.Done():
				stop()
				return
			}
			if a = s.lookAround(); s.stops(a, k, begun) {
				return
			}
			now = a.now
		}
	})
	return func() {
		cancel()
		all.Wait()
	}
}

// spent is when a job that has begun will have used up what the window's compute
// left to it. It wants mu.
func (s *Scheduler) spent(w span, begun time.Time) time.Time {
	left, _ := s.usageIn(w).left(s.config.Load().Budget)
	if begun.Before(w.Start) { // in a window before this one
		begun = w.Start
	}
	return begun.Add(left.Compute)
}

// rounds is how long a job runs until it is looked at again. Clocks may be set, so
// it is not long.
func (s *Scheduler) rounds(a around, now, begun time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := min(s.config.Load().Device.ReadEvery, longestWait, s.spent(a.window, begun).Sub(now))
	if a.window.Open {
		d = min(d, a.window.End.Sub(now))
	}
	return max(d, time.Second)
}

// stops interrupts a job that may not go on.
func (s *Scheduler) stops(a around, k Kind, begun time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	forbidden := a.reasons != nil
	if k.resumes() {
		forbidden = s.forbids(a) != nil || !a.now.Before(s.spent(a.window, begun))
	}
	if forbidden {
		s.giveWay()
	}
	return forbidden
}
