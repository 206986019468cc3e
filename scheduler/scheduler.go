package scheduler

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Scheduler decides which idle work runs when.
//
// Lock order: stepLock, diskLock, mu; envLock is taken alone. Callbacks run under
// stepLock at most.
type Scheduler struct {
	o Options
	// config is the current configuration; o.Config is the initial one. See Configure.
	config atomic.Pointer[Config]
	// stepLock is held during a step: one runs at a time.
	stepLock chan struct{}
	// diskLock is held during a change of the disk, from reading memory to updating it.
	diskLock sync.Mutex
	// envLock guards windows and sensor; it is held while the system's files are read.
	envLock sync.Mutex
	windows *windows
	sensor  *sensor
	meter   *meter // has its own lock
	// timer is used by Run and Drain, watch by the check of a running job. Both are
	// time.NewTimer, except in tests.
	timer, watch func(time.Duration) (fires <-chan time.Time, stop func() bool)

	// mu guards the fields below. It is never held during disk access.
	mu      sync.Mutex
	states  map[kv.SpaceID]*spaceState
	jobs    map[jobID]*queuedJob
	usage   usage
	paused  bool
	scarce  bool // memory is
	closed  bool
	rescan  bool   // reload the list of spaces and scan all of them
	turn    uint64 // counts jobs, over all restarts
	dirty   map[string]func(key []byte) []byte
	revoked map[string]struct{} // keys of credits to delete

	requests    int       // user requests in progress
	intakes     int       // uploads in progress
	lastRequest time.Time // end of the last request
	interrupt   context.CancelCauseFunc
	draining    bool // the current step belongs to a drain
	running     *running
	asked       Energy        // of user requests
	wakeup      chan struct{} // closed and replaced at each event
}

// spaceState is the state of one space, except for its jobs.
type spaceState struct {
	hash    kv.SpaceID
	name    string
	stored  bool   // it has a record, or gets one with the next transaction
	served  uint64 // turn of its last job
	days    map[date]*ledgerDay
	credits map[[16]byte]*credit
	pruned  int // number of credits after the last Prune

	changed           kindSet // kinds to scan
	skippedPrediction bool    // the last scan left out prediction
	// foundNothing holds when jobs found nothing to do. If the worker names them again
	// they wait, so that the scheduler does not loop.
	foundNothing map[jobID]time.Time
	// State of a failed scan: its kinds, the number of failures, the next attempt, and
	// the error. Other kinds are scanned normally.
	failedKinds  kindSet
	scanFailures int
	scanAgain    time.Time
	scanErr      error
}

// queuedJob is a job in the queue.
type queuedJob struct {
	job   Job
	id    jobID
	space *spaceState
	rank  int // its place in the worker's latest list
}

type running struct {
	job   Job
	since time.Time
}

func newSpaceState(space string) *spaceState {
	return &spaceState{
		hash: kv.NewSpaceID(space), name: space,
		days: map[date]*ledgerDay{}, credits: map[[16]byte]*credit{}, foundNothing: map[jobID]time.Time{},
	}
}

// Open reads the queue and the ledger from the database. It starts nothing. The caller
// closes the database after the scheduler.
func Open(o Options) (*Scheduler, error) {
	const op = "scheduler.Open"
	if err := o.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	windows, err := newWindows(o.Config.Windows, o.Config.Zone)
	if err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", err)
	}
	s := &Scheduler{
		o: o, stepLock: make(chan struct{}, 1), windows: windows, sensor: newSensor(o.Sys, o.Config.Device, o.Now),
		timer: newTimer, watch: newTimer,
		states: map[kv.SpaceID]*spaceState{}, jobs: map[jobID]*queuedJob{}, rescan: true,
		dirty: map[string]func([]byte) []byte{}, revoked: map[string]struct{}{}, wakeup: make(chan struct{}),
	}
	s.meter = s.sensor.energy
	s.config.Store(&o.Config)
	if err := s.load(); err != nil {
		return nil, fault.Wrap(op, err)
	}
	return s, nil
}

func newTimer(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}

// Close writes pending changes like Flush. Run must have returned; the scheduler cannot
// be used afterwards.
func (s *Scheduler) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return fault.Wrap("scheduler.Close", s.flush())
}

func errClosed(op string) error { return fault.New(fault.Unavailable, op, "the scheduler is closed") }

// stateOf returns the state of a space and creates it if necessary. The caller holds mu.
func (s *Scheduler) stateOf(space string) *spaceState {
	hash := kv.NewSpaceID(space)
	b := s.states[hash]
	if b == nil {
		b = newSpaceState(space)
		s.states[hash] = b
	}
	return b
}

// worker finds due work and does it.
type worker interface {
	// Spaces lists all spaces.
	Spaces() ([]string, error)
	// Due lists the due work of a kind, most useful first, at most limit. It reads the
	// stores, so finished work is no longer due.
	Due(ctx context.Context, space string, kind Kind, limit int) ([]Due, error)
	// Do does a job. When ctx ends it returns soon, keeps what it has stored, and
	// continues from there next time. NotFound means that the job's subject is gone. Do
	// may call any method except Step, Run and Drain.
	Do(ctx context.Context, j Job) (Done, error)
}

// Options configure a Scheduler.
type Options struct {
	DB     *kv.DB
	Worker worker
	Config Config
	// Alive reports whether the result of a job still exists or may exist again. The
	// scheduler deletes the credits of others. Nil: unknown.
	Alive func(space string, id [16]byte) bool
	// Now is the clock.
	Now func() time.Time
	// Sys is Linux's /sys with the device's state; nil: unknown.
	Sys      fs.FS
	Logger   *slog.Logger // nil discards
	Observer Observer
}

// Observer receives events. Each func may be nil; none may call Step, Run or Drain.
type Observer struct {
	// Ended is called after each job.
	Ended func(Step)
	// Request is called after each user request whose energy is known.
	Request func(joules float64)
	// Damaged is called after an unreadable record was deleted.
	Damaged func(err error)
}

// Validate reports all faults together.
func (o Options) Validate() error {
	errs := []error{o.Config.Validate()}
	if o.DB == nil {
		errs = append(errs, errors.New("missing database"))
	}
	if o.Worker == nil {
		errs = append(errs, errors.New("missing worker"))
	}
	if o.Now == nil {
		errs = append(errs, errors.New("missing clock"))
	}
	return errors.Join(errs...)
}

func (o Options) damaged(err error) {
	if o.Observer.Damaged != nil {
		o.Observer.Damaged(fault.New(fault.Internal, "scheduler.Open", "%w", err))
	}
}

func (o Options) ended(st Step) {
	if o.Observer.Ended != nil {
		o.Observer.Ended(st)
	}
}
