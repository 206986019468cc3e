package scheduler

import (
	"slices"
	"time"

	"github.com/percached/percached/internal/base/kv"
)

// State is what the scheduler is doing.
type State string

// The states.
const (
	Working State = "working" // a job runs
	Idle    State = "idle"    // work is allowed, but none is due
	Waiting State = "waiting" // there may be work, but not now
	Paused  State = "paused"  // the user paused it; a job may still be stopping
)

// Status is the state of idle work.
type Status struct {
	State   State    `json:"state"`
	Reasons []Reason `json:"reasons"` // all reasons against idle work now
	Running *Job     `json:"running,omitempty"`
	// Since is when the running job began.
	Since  time.Time    `json:"since,omitzero"`
	Window WindowStatus `json:"window"`
	Device Device       `json:"device"`
	// Jobs counts waiting jobs by kind.
	Jobs   map[Kind]int    `json:"jobs"`
	Parked []Job           `json:"parked"`
	Pace   map[string]Pace `json:"pace"` // by space
}

// WindowStatus is the open window, or when the next one opens.
type WindowStatus struct {
	Open  bool      `json:"open"`
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
	Next  time.Time `json:"next,omitzero"`
	Used  Budget    `json:"used"`
	Left  Budget    `json:"left"`
}

// Status returns the current state. The reasons are current; the due work is that of the
// last scan.
func (s *Scheduler) Status() (Status, error) {
	a := s.readConditions()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return Status{}, errClosed("scheduler.Status")
	}
	st := Status{
		Reasons: s.reasonsNow(a), Device: a.device, Jobs: map[Kind]int{}, Pace: map[string]Pace{},
		Window: WindowStatus{Open: a.window.Open, Start: a.window.Start, End: a.window.End, Next: a.window.Next},
	}
	if a.window.Open {
		u := s.usageIn(a.window)
		st.Window.Used = Budget{Compute: u.compute, Questions: u.questions, Written: u.written}
		st.Window.Left, _ = u.remaining(s.config.Load().Budget)
	}
	var parked []place
	for _, it := range s.jobs {
		if it.job.Parked {
			parked = append(parked, it.place())
		} else {
			st.Jobs[it.job.Kind]++
		}
	}
	slices.SortFunc(parked, place.compare)
	for _, p := range parked {
		st.Parked = append(st.Parked, p.job)
	}
	for _, b := range s.states {
		st.Pace[b.name] = s.pace(b, a.now)
	}
	if s.running != nil {
		job := s.running.job
		st.Running, st.Since = &job, s.running.since
	}
	allowed := len(st.Reasons) == 0
	c := s.pick(a, nil)
	if c.item == nil && !s.scanPending(a.now) {
		st.Reasons = append(st.Reasons, c.reasons...)
	}
	switch {
	case s.paused: // the running job is being stopped
		st.State = Paused
	case s.running != nil:
		st.State = Working
	case allowed && c.item == nil && !s.scanPending(a.now):
		st.State = Idle
	default:
		st.State = Waiting
	}
	return st, nil
}

// scanPending reports whether a space still needs a scan, so that due work is unknown.
// The caller holds mu.
func (s *Scheduler) scanPending(now time.Time) bool {
	if s.rescan {
		return true
	}
	for _, b := range s.states {
		if b.kindsToScan(now, s.config.Load().Retry, allKinds) != 0 {
			return true
		}
	}
	return false
}

// Parked counts the parked jobs of a kind in a space. It does not block, so a worker may
// call it.
func (s *Scheduler) Parked(space string, k Kind) (n int) {
	hash := kv.NewSpaceID(space)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range s.jobs {
		if it.job.Parked && it.job.Kind == k && it.space.hash == hash {
			n++
		}
	}
	return n
}

// Queue lists the jobs in the order in which they would run if all could start now,
// parked ones last.
func (s *Scheduler) Queue() []Job {
	s.mu.Lock()
	places := make([]place, 0, len(s.jobs))
	for _, it := range s.jobs {
		places = append(places, it.place())
	}
	s.mu.Unlock() // sorting takes a while and must not block others
	slices.SortFunc(places, func(a, b place) int {
		if a.job.Parked != b.job.Parked {
			if a.job.Parked {
				return 1
			}
			return -1
		}
		return a.compare(b)
	})
	jobs := make([]Job, len(places))
	for i, p := range places {
		jobs[i] = p.job
	}
	return jobs
}
