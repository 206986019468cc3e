package trial

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/folder"
)

// Setup says what to run, and on what.
type Setup struct {
	Data *eval.Data
	// Run is complete except for what percached reports about itself, and Began, Users,
	// Skipped and PassedOver.
	Run eval.Run
	Dir string // of the run; a part of the same run in it is continued
	// Start starts an empty percached whose settings the run may change.
	Start func(context.Context) (*Daemon, error)
	// Tell receives the progress of the run.
	Tell func(Step)
}

// Daemon is a running percached.
type Daemon struct {
	API  *client.Client
	Stop func() error
}

// Step is the progress of a run.
type Step struct {
	Repeat int
	User   string
	What   string  // taking in, working ahead, asking
	Of1    float64 // share of the run that is done
}

// runner executes a run.
type runner struct {
	Setup
	steps int // of the whole run

	mu   sync.Mutex // guards done, and calls of Tell
	done int
}

// Run executes a run and returns its results.
func Run(ctx context.Context, s Setup) (*eval.Results, error) {
	r := &runner{Setup: s}
	f, err := r.openFolder(ctx)
	if err != nil {
		return nil, err
	}
	for i := range r.Data.Sets {
		r.steps += r.Run.Plan.Repeats * (len(questionOrder(&r.Data.Sets[i], &r.Run.Plan)) + preparationSteps)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(r.Run.Plan.AtOnce, 1))
	for repeat := 1; repeat <= r.Run.Plan.Repeats; repeat++ {
		for i := range r.Data.Sets {
			set := &r.Data.Sets[i]
			if f.Has(repeat, set.User) {
				r.count(len(questionOrder(set, &r.Run.Plan)) + preparationSteps)
				continue
			}
			g.Go(func() error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				u, err := r.unit(ctx, repeat, set)
				if err == nil {
					err = f.Put(u)
				}
				if err != nil {
					return fmt.Errorf("user %s, repeat %d: %w", set.User, repeat, err)
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return folder.Read(r.Dir)
}

// preparationSteps is the weight of everything before the questions, in questions.
const preparationSteps = 20

// count adds finished steps.
func (r *runner) count(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done += n
}

// step reports progress.
func (r *runner) step(u *unit, what string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done += n
	r.Tell(Step{u.Repeat, u.User, what, float64(r.done) / float64(r.steps)})
}

// checkData says why questions cannot be asked.
func checkData(d *eval.Data) error {
	if len(d.Sets) == 0 {
		return errors.New("the data has no users")
	}
	seen := map[string]bool{}
	for _, s := range d.Sets {
		if len(s.Questions) == 0 {
			return fmt.Errorf("user %s has no questions", s.User)
		}
		if seen[s.User] {
			return fmt.Errorf("user %s is twice in the data", s.User)
		}
		seen[s.User] = true
	}
	return nil
}

// openFolder creates the run's folder, or opens one with a part of the same run.
func (r *runner) openFolder(ctx context.Context) (*folder.Folder, error) {
	if err := checkData(r.Data); err != nil {
		return nil, err
	}
	run := &r.Run
	run.Layout, run.Began = eval.Layout, time.Now().UTC()
	run.Skipped, run.PassedOver = append([]eval.Skipped{}, r.Data.Skipped...), r.Data.PassedOver
	for i := range r.Data.Sets {
		s := &r.Data.Sets[i]
		run.Users = append(run.Users, eval.User{Name: s.User, Kind: s.Kind, Files: len(s.Files), Questions: len(s.Questions)})
	}
	sum, err := digest(r.Data)
	if err != nil {
		return nil, fmt.Errorf("cannot read the data: %w", err)
	}
	run.DataSum = sum
	if err := r.probe(ctx); err != nil {
		return nil, fmt.Errorf("cannot probe percached: %w", err)
	}
	if !folder.Exists(r.Dir) {
		return folder.Create(r.Dir, run)
	}
	f, old, err := folder.Open(r.Dir)
	if err != nil {
		return nil, err
	}
	if what := difference(old, run); what != "" {
		return nil, fmt.Errorf("%s holds another run with a different %s; name another folder", r.Dir, what)
	}
	*run = *old
	return f, nil
}

// withDaemon runs fn with a percached, and stops it afterwards.
func (r *runner) withDaemon(ctx context.Context, fn func(*client.Client) error) error {
	d, err := r.Start(ctx)
	if err != nil {
		return err
	}
	err = fn(d.API)
	if stopped := d.Stop(); err == nil || ctx.Err() == nil {
		err = errors.Join(err, stopped)
	}
	return err
}
