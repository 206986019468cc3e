package node

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/knowledgebank/reader"
)

// InboxDisk is the maximum disk space for uploads until they are taken in.
const InboxDisk = 8 << 30

// InboxLimits bound uploads.
type InboxLimits struct {
	Disk      int64 // bytes
	Documents int   // of an upload
	Expanded  int64 // bytes of an upload, unpacked
}

// OpenInbox opens what keeps uploads until they are in. The service closes it.
func OpenInbox(s *Node, limits InboxLimits, log *slog.Logger, observer inbox.Observer) (*inbox.Inbox, error) {
	rd, err := reader.New(reader.Default())
	if err != nil {
		return nil, err
	}
	o := inbox.Default()
	o.Library, o.Spaces, o.Reader, o.MaxBytes, o.Now, o.Logger, o.Observer = s.Library, s.Knowledge, rd, limits.Disk, s.Now, log, observer
	o.Taking = s.Scheduler.Intake
	o.Memory, o.MaxDocuments, o.MaxExpanded = UploadMemory(machine.Memory()), limits.Documents, limits.Expanded
	o.MinFree = 2 * minFree // what is sent must not take the room in which it is taken in
	in, err := inbox.Open(s.Home.Path("inbox"), s.Meta, o)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, in.Close)
	return in, nil
}

// FlushInterval is how long it may take until what is only counted lies on the disk.
const FlushInterval = time.Minute

// FlushOn writes down, whenever it is told to, what was only counted in memory:
// uses, hits, questions of the history, what idle work earned. A crash loses no more
// than came since. What cannot be written stays for the next time.
func (s *Node) FlushOn(ctx context.Context, when <-chan time.Time) {
	for failed := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-when:
			err := s.flush(ctx)
			if err != nil && ctx.Err() == nil && !failed {
				s.Log.Warn("what was counted could not be written down, and is tried again each minute", "kind", fault.KindOf(err), "error", err)
			}
			failed = err != nil
		}
	}
}

func (s *Node) flush(ctx context.Context) error {
	return errors.Join(s.Bank.Flush(ctx), s.Tree.Flush(), s.History.Flush(), s.Predictor.Flush(), s.Scheduler.Flush())
}

// Reconfigure brings what can change while it runs from one setup to another. If
// a part refuses, all is as it was.
func (s *Node) Reconfigure(from, to config.Config) error {
	steps := []func(config.Config) error{
		func(c config.Config) error {
			set, err := s.Settings(c)
			if err != nil {
				return err
			}
			return s.Asker.Configure(set)
		},
		s.withRules(s.Worker.Configure),
		s.withRules(func(r idle.Config) error { return s.Scheduler.Configure(r.Policy) }), // looks for work anew, by the worker's rules, too
		func(c config.Config) error {
			if from.BankLimit == to.BankLimit {
				return nil
			}
			return s.Bank.SetLimit(context.Background(), c.BankLimit)
		},
		func(c config.Config) error {
			if from.TensorLimit == to.TensorLimit {
				return nil
			}
			return s.Tree.SetLimit(c.TensorLimit)
		},
	}
	for i, step := range steps {
		err := step(to)
		if err == nil {
			continue
		}
		for ; i >= 0; i-- {
			err = errors.Join(err, steps[i](from))
		}
		return err
	}
	return nil
}

// withRules gives fn the rules of idle work that a setup makes.
func (s *Node) withRules(fn func(idle.Config) error) func(config.Config) error {
	return func(c config.Config) error {
		rules, err := s.IdleRules(c)
		if err != nil {
			return err
		}
		return fn(rules)
	}
}

// UploadMemory is what documents may take while they come in on a machine with so
// much memory: enough for the largest, and a small part of all.
func UploadMemory(all int64) int64 { return min(max(all/16, 64<<20), 256<<20) }
