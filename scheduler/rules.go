package scheduler

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/percached/percached/internal/base/kv"
)

// conditions are the time, the window and the device state at one moment.
type conditions struct {
	now        time.Time
	window     span
	nextWindow time.Time // when the window after this one opens
	device     Device
	reasons    []Reason // against idle work, from the device
}

// readConditions reads the clock, the windows and the device.
func (s *Scheduler) readConditions() conditions {
	a := conditions{now: s.o.Now()}
	s.envLock.Lock()
	defer s.envLock.Unlock()
	a.window = s.windows.at(a.now)
	a.nextWindow = a.window.Next
	s.sensor.refresh(a.now)
	a.device, a.reasons = s.sensor.known(a.now), s.sensor.reasons(a.now)
	return a
}

// userReasons lists the reasons that come from the user: pause, request, upload. Only
// these stop a Drain. The caller holds mu.
func (s *Scheduler) userReasons() (reasons []Reason) {
	if s.paused {
		reasons = append(reasons, Reason{Code: ReasonPaused, Text: "idle work is paused"})
	}
	if s.requests > 0 {
		reasons = append(reasons, Reason{Code: ReasonForeground, Text: "a request is in progress"})
	} else if s.intakes > 0 {
		reasons = append(reasons, Reason{Code: ReasonForeground, Text: "an upload is in progress"})
	}
	return reasons
}

// reasonsNow lists all reasons against idle work. The caller holds mu.
func (s *Scheduler) reasonsNow(a conditions) []Reason {
	reasons := s.userReasons()
	if s.scarce {
		reasons = append(reasons, Reason{Code: ReasonMemory, Text: "memory is scarce, or was a moment ago"})
	}
	if s.lastRequest.After(a.now) {
		s.lastRequest = a.now // the clock was set back
	}
	if until := s.lastRequest.Add(s.config.Load().IdleAfter); !s.lastRequest.IsZero() && a.now.Before(until) {
		reasons = append(reasons, Reason{Code: ReasonRecent, Text: fmt.Sprintf("a request ended less than %v ago", s.config.Load().IdleAfter), Until: until})
	}
	if !a.window.Open {
		reasons = append(reasons, Reason{Code: ReasonWindow, Text: "no window for idle work is open", Until: a.window.Next})
	} else if _, spent := s.usageIn(a.window).remaining(s.config.Load().Budget); spent != nil {
		reasons = append(reasons, spentReason(spent, a.nextWindow))
	}
	return append(reasons, a.reasons...)
}

// wakeTime is when the last of these reasons may end; zero: not before the next event.
func (s *Scheduler) wakeTime(now time.Time, reasons []Reason) (at time.Time) {
	for _, r := range reasons {
		until := r.Until
		switch r.Code {
		case ReasonForeground, ReasonPaused, ReasonMemory:
			return time.Time{}
		case ReasonBattery, ReasonHot, ReasonDeviceStale: // the end is unknown
			until = now.Add(max(s.config.Load().Device.ReadEvery, time.Second))
		}
		at = later(at, until)
	}
	return at
}

// watchRules checks the rules while a job runs, which may take hours: whenever the device
// is read, and when the window or its compute budget ends. It leaves jobs of a drain
// alone. Call stop to end the watch.
func (s *Scheduler) watchRules(ctx context.Context, a conditions, k Kind, begun time.Time) (stop func()) {
	s.mu.Lock()
	early := s.draining
	s.mu.Unlock()
	if early {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		for now := begun; ; {
			fires, stop := s.watch(s.nextCheck(a, now, begun))
			select {
			case <-fires:
			case <-ctx.Done():
				stop()
				return
			}
			if a = s.readConditions(); s.interruptIfForbidden(a, k, begun) {
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

// budgetEnd is when the running job will have used up the window's compute budget. The
// caller holds mu.
func (s *Scheduler) budgetEnd(w span, begun time.Time) time.Time {
	left, _ := s.usageIn(w).remaining(s.config.Load().Budget)
	if begun.Before(w.Start) { // began in an earlier window
		begun = w.Start
	}
	return begun.Add(left.Compute)
}

// nextCheck is the time until the next check. It is short, because clocks may be set.
func (s *Scheduler) nextCheck(a conditions, now, begun time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := min(s.config.Load().Device.ReadEvery, maxWait, s.budgetEnd(a.window, begun).Sub(now))
	if a.window.Open {
		d = min(d, a.window.End.Sub(now))
	}
	return max(d, time.Second)
}

// interruptIfForbidden interrupts the job if the rules no longer allow it, and reports
// whether it did.
func (s *Scheduler) interruptIfForbidden(a conditions, k Kind, begun time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	forbidden := a.reasons != nil
	if k.isResumable() {
		forbidden = s.reasonsNow(a) != nil || !a.now.Before(s.budgetEnd(a.window, begun))
	}
	if forbidden {
		s.interruptStep()
	}
	return forbidden
}

// usage is what idle work used of one window's budget. Between windows only Drain works;
// that usage has no start.
type usage struct {
	start     time.Time
	compute   time.Duration
	questions int
	written   int64
	asked     map[kv.SpaceID][2]int // prediction rounds by space: from knowledge, from history
}

// usageIn returns the usage of this window. The stored usage of another window stays
// until something is charged to this one, because that window may become current again.
// The caller holds mu.
func (s *Scheduler) usageIn(w span) *usage {
	if !s.usage.start.Equal(w.Start) {
		return &usage{start: w.Start}
	}
	return &s.usage
}

func predictionIndex(k Kind) int {
	if k == History {
		return 1
	}
	return 0
}

// chargeBudget charges a job to its window. The caller holds mu.
func (s *Scheduler) chargeBudget(w span, b *spaceState, k Kind, c cost) {
	s.usage = *s.usageIn(w)
	u := &s.usage
	u.compute += c.took
	u.questions += max(0, c.done.Questions)
	u.written += max(0, c.done.Written)
	if k.findsQuestions() && c.end == EndDone {
		if u.asked == nil {
			u.asked = map[kv.SpaceID][2]int{}
		}
		n := u.asked[b.hash]
		n[predictionIndex(k)]++
		u.asked[b.hash] = n
	}
	s.markDirty([]byte{ownByte, budgetByte}, func(key []byte) []byte { return encodeUsage(key, &s.usage) })
}

// remaining returns what is left of the budget, and names its used-up parts.
func (u *usage) remaining(b Budget) (left Budget, spent []string) {
	left = Budget{
		Compute:   max(0, b.Compute-u.compute),
		Questions: max(0, b.Questions-u.questions),
		Written:   max(0, b.Written-u.written),
	}
	if left.Compute == 0 {
		spent = append(spent, fmt.Sprintf("%v of compute", b.Compute))
	}
	if left.Questions == 0 {
		spent = append(spent, fmt.Sprintf("%d questions", b.Questions))
	}
	if left.Written == 0 {
		spent = append(spent, fmt.Sprintf("%d bytes written", b.Written))
	}
	return left, spent
}

// spentReason describes a used-up budget; again is when the next window opens.
func spentReason(spent []string, again time.Time) Reason {
	return Reason{Code: ReasonBudget, Text: "the window's budget is used up: " + strings.Join(spent, ", "), Until: again}
}
