package scheduler

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// worker knows what there is to do, and does it.
type worker interface {
	// Spaces lists the spaces that there are.
	Spaces() ([]string, error)
	// Due lists what is to be done of a kind, most useful first, at most limit.
	// The truth is what is stored: what was done is not due any more.
	Due(ctx context.Context, space string, kind Kind, limit int) ([]Due, error)
	// Do does a job. It ends soon when ctx does, keeps what it had stored by
	// then, and goes on from there the next time. A NotFound says that what
	// the job is about is gone. It may call the scheduler, but for Step, Run
	// and Drain.
	Do(ctx context.Context, j Job) (Done, error)
}

// Options of a Scheduler.
type Options struct {
	DB     *kv.DB
	Worker worker
	Config Config
	// Alive says whether something that a job made is still there, or may be
	// again. What is not saves nothing: its credit goes. Nil: nobody knows.
	Alive func(space string, id [16]byte) bool
	// Now is the clock.
	Now func() time.Time
	// Sys has the device's state as Linux has it at /sys; nil: it is not known.
	Sys      fs.FS
	Logger   *slog.Logger // nil keeps silent
	Observer Observer
}

// Observer is told what nobody asked for. Any func may be nil; none may call
// Step, Run or Drain.
type Observer struct {
	// Ended: a job ended, one way or another.
	Ended func(Step)
	// Damaged: a record could not be read and was removed.
	Damaged func(err error)
}

// Validate joins all that is wrong.
func (o Options) Validate() error {
	errs := []error{o.Config.Validate()}
	if o.DB == nil {
		errs = append(errs, errors.New("no database"))
	}
	if o.Worker == nil {
		errs = append(errs, errors.New("no worker"))
	}
	if o.Now == nil {
		errs = append(errs, errors.New("no clock"))
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
