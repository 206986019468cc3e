package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/backend"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/scheduler"
)

// limits bound idle work.
type limits struct {
	rounds      int // of prediction
	predictions int // kept
	warm        int // chunks to prefill without a prediction
}

// ration is a worker with limits.
type ration struct {
	*idle.Worker
	limits
	kept func() (int, error) // number of predictions
	made int                 // rounds
}

// left says whether work of a kind is still allowed.
func (r *ration) left(k scheduler.Kind) (bool, error) {
	switch k {
	case scheduler.Abstract, scheduler.Predict, scheduler.History:
		n, err := r.kept()
		return r.rounds > 0 && n < r.predictions, err
	case scheduler.Warm:
		return r.warm > 0, nil
	case scheduler.Populate, scheduler.Decode, scheduler.Restore:
		return r.predictions > 0, nil
	}
	return true, nil
}

// Due returns the worker's due work while work of the kind is allowed.
func (r *ration) Due(ctx context.Context, space string, k scheduler.Kind, limit int) ([]scheduler.Due, error) {
	if ok, err := r.left(k); !ok || err != nil {
		return nil, err
	}
	if k == scheduler.Warm {
		limit = min(limit, r.warm)
	}
	return r.Worker.Due(ctx, space, k, limit)
}

// Do does a job while work of its kind is allowed.
func (r *ration) Do(ctx context.Context, j scheduler.Job) (scheduler.Done, error) {
	if ok, err := r.left(j.Kind); !ok || err != nil {
		return scheduler.Done{Nothing: true}, err
	}
	d, err := r.Worker.Do(ctx, j)
	if err != nil || d.Nothing {
		return d, err
	}
	switch j.Kind {
	case scheduler.Predict, scheduler.History:
		r.rounds--
		r.made++
	case scheduler.Warm:
		r.warm--
	}
	return d, nil
}

// asking is one service with its answers.
type asking struct {
	name, from string // copied from this service
	dir        string
	work       *ration // nil: no idle work
	line       *serviceLine
	did        scheduler.Summary
	got        []answer.Answer
	origins    []string // of the served entries

	*node.Node // nil while closed
	jobs       *scheduler.Scheduler
	queue      *kv.DB
}

// open opens the node, and a separate scheduler with limits.
func (a *asking) open(ctx context.Context, c node.Options, jobs string, stderr io.Writer) (err error) {
	c.Data = a.dir
	if a.Node, err = node.Open(ctx, c, true, stderr); err != nil || a.work == nil {
		return err
	}
	s := a.Node
	rules, err := s.IdleRules(c.Config)
	if err != nil {
		return err
	}
	a.work.Worker, err = idle.New(idle.Parts{
		Knowledge: s.Knowledge, Index: s.Index, Bank: s.Bank, Tree: s.Tree, History: s.History, Asker: s.Asker,
		Predictor: s.Predictor, Library: s.Library, Embedder: s.QuestionEmbedder, Engine: s.Engine, Now: s.Now,
	}, rules)
	if err != nil {
		return err
	}
	a.work.kept = func() (int, error) {
		st, err := s.Predictor.Stats(predictSpace)
		return st.Predictions, err
	}
	o := kv.Default()
	o.Sync = false
	if a.queue, err = kv.Open(jobs, o); err != nil {
		return err
	}
	policy := rules.Policy
	policy.Pay.Trial = 1000 * time.Hour // never pause prediction because it does not pay
	a.jobs, err = scheduler.Open(scheduler.Options{DB: a.queue, Worker: a.work, Config: policy, Now: s.Now})
	return err
}

// drain runs all due and allowed idle work.
func (a *asking) drain(ctx context.Context, stderr io.Writer) error {
	shown := time.Now()
	_, err := a.jobs.Drain(ctx, scheduler.DrainRequest{}, func(st scheduler.Step) {
		if st.Job == nil {
			return
		}
		a.did.Add(st)
		if now := time.Now(); now.Sub(shown) > 5*time.Second {
			shown = now
			cmdline.Say(stderr, "%s: %s; %.0f s so far", a.name, st.Job.Kind, a.did.Took.Seconds())
		}
	})
	a.line.Work = backend.WireDrained(a.did)
	return err
}

// shut closes the node. It may be called twice.
func (a *asking) shut() error {
	var errs []error
	if a.jobs != nil {
		errs = append(errs, a.jobs.Close())
		a.jobs = nil
	}
	if a.queue != nil {
		errs = append(errs, a.queue.Close())
		a.queue = nil
	}
	if a.Node != nil {
		errs = append(errs, a.Node.Close())
		a.Node = nil
	}
	return errors.Join(errs...)
}
