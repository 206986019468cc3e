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

// InboxDisk is the maximum disk space of waiting uploads.
const InboxDisk = 8 << 30

// InboxLimits bound uploads.
type InboxLimits struct {
	Disk      int64 // bytes
	Documents int   // of an upload
	Expanded  int64 // bytes of an upload, unpacked
}

// OpenInbox opens the inbox, which stores uploads until they are added. The node closes it.
func OpenInbox(n *Node, limits InboxLimits, log *slog.Logger, observer inbox.Observer) (*inbox.Inbox, error) {
	rd, err := reader.New(reader.Default())
	if err != nil {
		return nil, err
	}
	o := inbox.Default()
	o.Key = n.Home.Encryption
	o.Library, o.Spaces, o.Reader, o.MaxBytes, o.Now, o.Logger, o.Observer = n.Library, n.Knowledge, rd, limits.Disk, n.Now, log, observer
	o.Taking = n.Scheduler.Intake
	o.Memory, o.MaxDocuments, o.MaxExpanded = UploadMemory(machine.Memory()), limits.Documents, limits.Expanded
	o.MinFree = 2 * MinFree // leave room to add the documents
	in, err := inbox.Open(n.Home.Path("inbox"), n.Meta, o)
	if err != nil {
		return nil, err
	}
	n.closers = append(n.closers, in.Close)
	return in, nil
}

// FlushInterval is the time between two writes of the counts in memory.
const FlushInterval = time.Minute

// FlushOnTick writes the counts in memory at every tick until ctx ends: uses, hits,
// questions of the history, savings of idle work. A crash loses the counts since the last
// tick. A failed write is repeated at the next tick. It also asks servers whether they still
// have their models.
func (n *Node) FlushOnTick(ctx context.Context, when <-chan time.Time) {
	for failed := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-when:
			err := n.flush(ctx)
			if err != nil && ctx.Err() == nil && !failed {
				n.Log.Warn("cannot write counts to disk; will retry every minute", "kind", fault.KindOf(err), "error", err)
			}
			failed = err != nil
			n.checkServers(ctx)
		}
	}
}

func (n *Node) flush(ctx context.Context) error {
	return errors.Join(n.Bank.Flush(ctx), n.Tree.Flush(), n.History.Flush(), n.Predictor.Flush(), n.Scheduler.Flush())
}

// Reconfigure applies the live keys of a new configuration. If a layer refuses, it restores
// the old configuration.
func (n *Node) Reconfigure(from, to config.Config) error {
	n.configuring.Lock()
	defer n.configuring.Unlock()
	steps := []func(config.Config) error{
		func(c config.Config) error {
			set, err := n.Settings(c)
			if err != nil {
				return err
			}
			return n.Asker.Configure(set)
		},
		n.withIdleRules(n.Worker.Configure),
		n.withIdleRules(func(r idle.Config) error { return n.Scheduler.Configure(r.Policy) }), // after the worker, because it looks for work at once
		func(c config.Config) error {
			if from.BankLimit == to.BankLimit {
				return nil
			}
			return n.Bank.SetLimit(context.Background(), c.BankLimit)
		},
		func(c config.Config) error {
			if from.TensorLimit == to.TensorLimit {
				return nil
			}
			return n.Tree.SetLimit(n.chooseTensors(c).Limit)
		},
		func(c config.Config) error {
			n.setConfig(c)
			n.keep.Store(int64(c.Keep))
			return nil
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

// withIdleRules calls fn with the rules of idle work of a configuration.
func (n *Node) withIdleRules(fn func(idle.Config) error) func(config.Config) error {
	return func(c config.Config) error {
		rules, err := n.IdleRules(c)
		if err != nil {
			return err
		}
		return fn(rules)
	}
}

// UploadMemory is the memory for documents that are being added, for a machine with this
// much memory: 1/16 of it, but at least 64 MiB and at most 256 MiB.
func UploadMemory(all int64) int64 { return min(max(all/16, 64<<20), 256<<20) }

// recover completes what a crash interrupted. If that fails, for example on a full disk, the
// node can still answer questions.
func (n *Node) recover(ctx context.Context) error {
	err := n.Library.Recover(ctx, n.Home.Unclean)
	if err == nil {
		n.Home.Unclean = false
		if !n.SkipCleanUp {
			err = n.Library.CleanUp(ctx, nil)
		}
	}
	return n.warnUnfinished(ctx, err)
}

// CleanUp removes the bytes of deleted data that an earlier process left on disk. If ctx
// ends first, the next process continues.
func (n *Node) CleanUp(ctx context.Context) {
	due, err := n.Library.NeedsCleanUp()
	if err == nil && due {
		if err = n.Library.CleanUp(ctx, nil); err == nil {
			n.Log.Info("removed the bytes of deleted data from disk")
		}
	}
	_ = n.warnUnfinished(ctx, err)
}

// warnUnfinished logs an error of recovery. The node works without it.
func (n *Node) warnUnfinished(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	n.Log.Warn("cannot complete the work of an earlier process; will retry at the next start", "kind", fault.KindOf(err), "error", err)
	return nil
}
