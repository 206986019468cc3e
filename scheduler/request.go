package scheduler

import (
	"sync"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// Foreground says that a request of the user begins; end, that it ended. The
// job that runs is told to give way, with percached.ErrPreempted as the cause,
// and none begins until IdleAfter has passed since the last request. It waits
// for nothing.
func (s *Scheduler) Foreground() (end func()) {
	s.mu.Lock()
	s.requests++
	s.giveWay()
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		now := s.o.Now()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests--
		s.ended = now
		s.ring()
	})
}

// Intake says that documents begin to be taken in; end, that they are. The job that
// runs gives way, but for Clean, which would never end where documents come all the
// time, and none begins meanwhile; behind it nothing is waited for. It waits for
// nothing.
func (s *Scheduler) Intake() (end func()) {
	s.mu.Lock()
	s.intakes++
	if s.running == nil || s.running.job.Kind != Clean {
		s.giveWay()
	}
	s.mu.Unlock()
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.intakes--
		s.ring()
	})
}

// giveWay interrupts what runs. It wants mu.
func (s *Scheduler) giveWay() {
	if s.interrupt != nil {
		s.interrupt(percached.ErrPreempted)
	}
}

// Changed says that something happened in a space: what is due there is looked
// for again. It waits for nothing.
func (s *Scheduler) Changed(space string) {
	if space == "" || len(space) > maxName {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.book(space)
	b.changed = allKinds
	clear(b.idle)
	s.ring()
}

// ring wakes who waits. It wants mu.
func (s *Scheduler) ring() {
	close(s.bell)
	s.bell = make(chan struct{})
}

// listen gives what is closed when something happens from now on.
func (s *Scheduler) listen() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bell
}

// interruptIn interrupts what runs for a space. It wants mu.
func (s *Scheduler) interruptIn(hash kv.SpaceID) {
	if s.running != nil && kv.NewSpaceID(s.running.job.Space) == hash {
		s.giveWay()
	}
}
