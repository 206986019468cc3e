package scheduler

import (
	"fmt"
	"time"
)

// around is what the scheduler is told by the clock on the wall and the device.
type around struct {
	now     time.Time
	window  span
	again   time.Time // when a window opens after this one
	device  Device
	reasons []Reason // the device's
}

// lookAround reads the clock, the windows and the device.
func (s *Scheduler) lookAround() around {
	a := around{now: s.o.Now()}
	s.outside.Lock()
	defer s.outside.Unlock()
	a.window = s.windows.at(a.now)
	a.again = a.window.Next
	s.sensor.read(a.now)
	a.device, a.reasons = s.sensor.known(a.now), s.sensor.forbids(a.now)
	return a
}

// joules reads the counter of energy.
func (s *Scheduler) joules() float64 {
	s.outside.Lock()
	defer s.outside.Unlock()
	return s.sensor.joules()
}

// asked lists the reasons of a person, for which alone Drain stops. It
// wants mu.
func (s *Scheduler) asked() (reasons []Reason) {
	if s.paused {
		reasons = append(reasons, Reason{Code: ReasonPaused, Text: "idle work is paused"})
	}
	if s.requests > 0 {
		reasons = append(reasons, Reason{Code: ReasonForeground, Text: "a request is being answered"})
	} else if s.intakes > 0 {
		reasons = append(reasons, Reason{Code: ReasonForeground, Text: "documents are being taken in"})
	}
	return reasons
}

// forbids lists all reasons for not working now. It wants mu.
func (s *Scheduler) forbids(a around) []Reason {
	reasons := s.asked()
	if s.ended.After(a.now) {
		s.ended = a.now // the clock was set back
	}
	if until := s.ended.Add(s.config.Load().IdleAfter); !s.ended.IsZero() && a.now.Before(until) {
		reasons = append(reasons, Reason{Code: ReasonRecent, Text: fmt.Sprintf("less than %v ago a request was answered", s.config.Load().IdleAfter), Until: until})
	}
	if !a.window.Open {
		reasons = append(reasons, Reason{Code: ReasonWindow, Text: "this is not a time for idle work", Until: a.window.Next})
	} else if _, spent := s.usageIn(a.window).left(s.config.Load().Budget); spent != nil {
		reasons = append(reasons, spentReason(spent, a.again))
	}
	return append(reasons, a.reasons...)
}

// wake says when the last of these reasons may have ended; zero: not before
// something happens.
func (s *Scheduler) wake(now time.Time, reasons []Reason) (at time.Time) {
	for _, r := range reasons {
		until := r.Until
		switch r.Code {
		case ReasonForeground, ReasonPaused:
			return time.Time{}
		case ReasonBattery, ReasonHot, ReasonDeviceStale: // nobody tells when
			until = now.Add(max(s.config.Load().Device.ReadEvery, time.Second))
		}
		at = later(at, until)
	}
	return at
}
