package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/telemetry"
	"github.com/percached/percached/knowledgebank/reader"
)

// inboxDisk is the maximum disk space for uploads until they are taken in.
const inboxDisk = 8 << 30

// inboxLimits bound uploads.
type inboxLimits struct {
	Disk      int64 // bytes
	Documents int   // of an upload
	Expanded  int64 // bytes of an upload, unpacked
}

// openInbox opens what keeps uploads until they are in. The service closes it.
func openInbox(s *service, limits inboxLimits, log *slog.Logger) (*inbox.Inbox, error) {
	rd, err := reader.New(reader.Default())
	if err != nil {
		return nil, err
	}
	o := inbox.Default()
	o.Library, o.Spaces, o.Reader, o.MaxBytes, o.Now, o.Logger, o.Observer = s.library, s.knowledge, rd, limits.Disk, s.now, log, s.news.ofInbox()
	o.Taking = s.scheduler.Intake
	o.Memory, o.MaxDocuments, o.MaxExpanded = uploadMemory(machineMemory()), limits.Documents, limits.Expanded
	o.MinFree = 2 * minFree // what is sent must not take the room in which it is taken in
	in, err := inbox.Open(s.home.Path("inbox"), o)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, in.Close)
	return in, nil
}

// countedFor is how long it may take until what is only counted lies on the disk.
const countedFor = time.Minute

// writeCounted writes down, whenever it is told to, what was only counted in memory:
// uses, hits, questions of the history, what idle work earned. A crash loses no more
// than came since. What cannot be written stays for the next time.
func (s *service) writeCounted(ctx context.Context, when <-chan time.Time) {
	for failed := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-when:
			err := s.flush(ctx)
			if err != nil && ctx.Err() == nil && !failed {
				s.log.Warn("what was counted could not be written down, and is tried again each minute", "kind", fault.KindOf(err), "error", err)
			}
			failed = err != nil
		}
	}
}

func (s *service) flush(ctx context.Context) error {
	return errors.Join(s.bank.Flush(ctx), s.tree.Flush(), s.history.Flush(), s.predictor.Flush(), s.scheduler.Flush())
}

// reconfigure brings what can change while it runs from one setup to another. If
// a part refuses, all is as it was.
func (s *service) reconfigure(from, to config.Config) error {
	steps := []func(config.Config) error{
		func(c config.Config) error {
			set, err := s.settings(c)
			if err != nil {
				return err
			}
			return s.asker.Configure(set)
		},
		s.withRules(s.worker.Configure),
		s.withRules(func(r idle.Config) error { return s.scheduler.Configure(r.Policy) }), // looks for work anew, by the worker's rules, too
		func(c config.Config) error {
			if from.BankLimit == to.BankLimit {
				return nil
			}
			return s.bank.SetLimit(context.Background(), c.BankLimit)
		},
		func(c config.Config) error {
			if from.TensorLimit == to.TensorLimit {
				return nil
			}
			return s.tree.SetLimit(c.TensorLimit)
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
func (s *service) withRules(fn func(idle.Config) error) func(config.Config) error {
	return func(c config.Config) error {
		rules, err := s.idleRules(c)
		if err != nil {
			return err
		}
		return fn(rules)
	}
}

// state is how things stand, for who scrapes metrics and who asks for it.
func (s *service) state(in *inbox.Inbox, listeners int) (telemetry.State, error) {
	const month = 30 * 24 * time.Hour
	tree, err := s.tree.Stats()
	if err != nil {
		return telemetry.State{}, err
	}
	m := telemetry.State{
		Tensors: telemetry.Room{Bytes: tree.Bytes, Limit: tree.Limit}, Disk: telemetry.Room{Bytes: tree.Disk, Limit: tree.Limit + tree.Slack},
		Slices: tree.Nodes, Queue: map[string]int{}, Ledger: map[string]telemetry.Account{},
		Questions: s.asker.Waiting(), Uploads: in.Waiting(), Listeners: listeners,
	}
	m.Bank.Bytes, m.Bank.Limit = s.bank.Usage()
	spaces, err := s.knowledge.Spaces()
	if err != nil {
		return m, err
	}
	m.Spaces = len(spaces)
	for _, sp := range spaces {
		st, err := s.knowledge.Stats(sp.Name)
		if fault.KindOf(err) == fault.NotFound { // it went meanwhile
			continue
		}
		if err != nil {
			return m, err
		}
		bank := s.bank.Stats(sp.Name)
		m.Documents, m.Chunks = m.Documents+st.Documents, m.Chunks+st.Chunks
		m.Entries, m.Answered, m.Stale = m.Entries+bank.Entries, m.Answered+bank.Answered, m.Stale+bank.Stale
	}
	idle, err := s.scheduler.Status()
	if err != nil {
		return m, err
	}
	m.Idle, m.Parked = string(idle.State), len(idle.Parked)
	for kind, n := range idle.Jobs {
		m.Queue[string(kind)] = n
	}
	accounts, err := s.scheduler.Ledger("", s.now().Add(-month))
	for _, a := range accounts {
		m.Ledger[string(a.Kind)] = telemetry.Account{Spent: a.Seconds, Saved: a.Earned}
	}
	return m, err
}
