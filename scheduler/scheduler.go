package scheduler

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Scheduler decides which idle work is done when.
//
// Locks, in the order in which they are taken: line, write, mu; outside is
// taken alone. No callback runs under any but line.
type Scheduler struct {
	o Options
	// config is what o.Config was at first: see Configure.
	config atomic.Pointer[Config]
	// line is held by who does a step: there is one at a time.
	line chan struct{}
	// write is held by whoever changes the disk, from looking at memory to
	// changing it.
	write sync.Mutex
	// outside guards what is known of the clock on the wall and the device; it
	// is held while the system's files are read.
	outside sync.Mutex
	windows *windows
	sensor  *sensor
	// timer is what Run and Drain wait with, and watch what a running job is watched
	// with: time.NewTimer, but in tests.
	timer, watch func(time.Duration) (fires <-chan time.Time, stop func() bool)

	// mu guards what follows. It is never held while the disk is read or written.
	mu     sync.Mutex
	books  map[kv.SpaceID]*book
	jobs   map[jobID]*item
	usage  usage
	paused bool
	closed bool
	all    bool   // the list of spaces is to be asked for, and all are to be looked through
	turn   uint64 // counts jobs, over all restarts
	dirty  map[string]func(key []byte) []byte
	gone   map[string]struct{} // keys of credits to be deleted

	requests  int       // of the user, under way
	intakes   int       // of documents, under way
	ended     time.Time // when the last one ended
	interrupt context.CancelCauseFunc
	early     bool // what may be interrupted is an errand
	running   *running
	bell      chan struct{} // closed and replaced when something happened
}

// book is what is kept of one space, its jobs aside.
type book struct {
	hash    kv.SpaceID
	name    string
	stored  bool   // it has a record, or will with the next transaction
	served  uint64 // the turn in which it was served last
	pages   map[date]*page
	credits map[[16]byte]*credit
	pruned  int // credits that were left when those of what is gone last went

	changed kindSet // that are to be looked for
	stopped bool    // when they were, prediction was left out
	// idle says when jobs found nothing to do. A worker may say that they are
	// due all the same: they wait, so that nobody turns in circles.
	idle map[jobID]time.Time
	// If looking failed: for which kinds, how often, when it is tried again, and
	// why. The other kinds go on.
	sick   kindSet
	failed int
	again  time.Time
	fault  error
}

// item is a job in the queue.
type item struct {
	job  Job
	id   jobID
	book *book
	rank int // its place when the worker last named it
}

type running struct {
	job   Job
	since time.Time
}

func newBook(space string) *book {
	return &book{
		hash: kv.NewSpaceID(space), name: space,
		pages: map[date]*page{}, credits: map[[16]byte]*credit{}, idle: map[jobID]time.Time{},
	}
}

// Open reads the queue and the ledger that the database holds, and starts
// nothing. The database stays the caller's, who closes it after the scheduler.
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
		o: o, line: make(chan struct{}, 1), windows: windows, sensor: newSensor(o.Sys, o.Config.Device),
		timer: newTimer, watch: newTimer,
		books: map[kv.SpaceID]*book{}, jobs: map[jobID]*item{}, all: true,
		dirty: map[string]func([]byte) []byte{}, gone: map[string]struct{}{}, bell: make(chan struct{}),
	}
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

// Close writes what Flush would. Run must have ended; the scheduler must not be
// used any more.
func (s *Scheduler) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	return fault.Wrap("scheduler.Close", s.flush())
}

func errClosed(op string) error { return fault.New(fault.Unavailable, op, "the scheduler is closed") }

// book finds what is kept of a space, or makes it. It wants mu.
func (s *Scheduler) book(space string) *book {
	hash := kv.NewSpaceID(space)
	b := s.books[hash]
	if b == nil {
		b = newBook(space)
		s.books[hash] = b
	}
	return b
}
