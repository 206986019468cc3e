package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/scheduler"
)

// simulate is what a simulated month is asked for.
type simulate struct {
	profile    string
	days       int // 0: as many as the profile has
	seed       uint64
	prediction string
	adaptive   bool
	conversion bool
	data       string
	// pay says when prediction slows down and stops.
	pay scheduler.Pay
}

func simulateCommand() *cobra.Command {
	o := &simulate{pay: scheduler.Default().Pay}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Live through a month of one user in seconds",
		Long: `Invents a person, and lives through a month of theirs: documents arrive, change and
go, questions are asked now and then, the phone is charged at night, limits are
moved. A script plays the language model, and the clock jumps; all else is the
real thing, in a data folder of its own. Tells, by week, how answers came, what
idle work cost and what it saved: each question is answered once more by a second
device that reuses nothing, and that is its cold latency. A token takes 10 ms to
read and 50 ms to write, as on a phone. What must hold at every moment is checked
throughout: if it does not, the command fails. The same seed gives the same month.

Profiles:
` + profiles(),
		Args:    cobra.NoArgs,
		Example: `  percached-eval simulate --profile typical --days 7`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := o.person()
			if err != nil {
				return err
			}
			r, err := o.run(cmd.Context(), p, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return cmdline.Show(cmd.OutOrStdout(), asJSON, r)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.profile, "profile", "typical", "who it is about")
	f.IntVar(&o.days, "days", 0, "how long it lasts (default: as the profile has it, 30)")
	f.Uint64Var(&o.seed, "seed", 1, "what chance begins with")
	f.StringVar(&o.prediction, "prediction", string(percached.PredictBoth), "what is kept of predicted questions: off, answers or both")
	f.BoolVar(&o.adaptive, "adaptive", true, "the threshold decides whether predicted questions are answered or prefilled only")
	f.BoolVar(&o.conversion, "conversion", true, "tensors become answers, and answers tensors, as threshold and room change")
	f.DurationVar(&o.pay.Horizon, "horizon", o.pay.Horizon, "how far back the costs and earnings of prediction are held against each other")
	f.DurationVar(&o.pay.Trial, "trial", o.pay.Trial, "compute that prediction may cost before it must have earned")
	f.Float64Var(&o.pay.Worth, "worth", o.pay.Worth, "seconds of idle compute that a second of a person's waiting is worth")
	f.StringVar(&o.data, "data", "", "new data folder that stays behind (default: one that goes)")
	f.BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// profiles lists who there is.
func profiles() string {
	var b strings.Builder
	for _, p := range persona.Profiles() {
		fmt.Fprintf(&b, "  %-14s %s\n", p.Name, p.About)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// person finds who it is about.
func (o *simulate) person() (persona.Profile, error) {
	p, ok := persona.Find(o.profile)
	if !ok {
		return p, cmdline.Misusef("there is no profile %q; they are:\n%s", o.profile, profiles())
	}
	if o.days != 0 { // what is told of the month is told of so many days
		p.Deletions, p.Revisions = p.Deletions*o.days/p.Days, p.Revisions*o.days/p.Days
		p.Days = o.days
	}
	if err := p.Validate(); err != nil {
		return p, cmdline.Misused(err)
	}
	return p, nil
}

// run lives through a person's month, in a folder that goes unless it was named.
func (o *simulate) run(ctx context.Context, p persona.Profile, stderr io.Writer) (r *monthReport, err error) {
	dir := o.data
	switch {
	case dir == "":
		made, failed := os.MkdirTemp("", "percached-simulate-")
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, os.RemoveAll(made)) }()
		dir = filepath.Join(made, "data")
	case home.Exists(dir):
		return nil, cmdline.Misusef("--data: %s is there already, and a month begins with an empty one", dir)
	}
	began := time.Now()
	s, err := o.open(ctx, p, dir, stderr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.shut()) }()
	if err := s.live(ctx); err != nil {
		return nil, err
	}
	r, err = s.report()
	if err == nil {
		cmdline.Say(stderr, "lived through %d days in %.1f s", p.Days, time.Since(began).Seconds())
	}
	return r, err
}
