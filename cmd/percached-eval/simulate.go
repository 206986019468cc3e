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

// simulate has the options of percached-eval simulate.
type simulate struct {
	profile    string
	days       int // 0: the number of the profile
	seed       uint64
	prediction string
	adaptive   bool
	conversion bool
	data       string
	// pay has the rules for slowing and stopping prediction.
	pay scheduler.Pay
}

func simulateCommand() *cobra.Command {
	o := &simulate{pay: scheduler.Default().Pay}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Simulate a month of one user in seconds",
		Long: `Simulates a month of one user: documents arrive, change and are deleted, questions are
asked, the phone charges at night, limits change. A script replaces the language model
and the clock is simulated; everything else is real, in a new data folder. A token takes
10 ms to read and 50 ms to write, as on a phone.

For each week the report has outcomes, and cost and savings of idle work. The cold
latency of a question is that of a second device that reuses nothing. The command checks
invariants throughout and fails if one is violated. The same seed gives the same month.

Profiles:
` + profiles(),
		Args:    cobra.NoArgs,
		Example: `  percached-eval simulate --profile typical --days 7`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := o.findProfile()
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
	f.StringVar(&o.profile, "profile", "typical", "Profile of the user")
	f.IntVar(&o.days, "days", 0, "Number of days, at most 366 (default: 30)")
	f.Uint64Var(&o.seed, "seed", 1, "Seed of the random numbers")
	f.StringVar(&o.prediction, "prediction", string(percached.PredictBoth), "What to store for predicted questions: off, answers or both")
	f.BoolVar(&o.adaptive, "adaptive", true, "Prefill predicted questions without answering them if the threshold is too high")
	f.BoolVar(&o.conversion, "conversion", true, "Convert between answers and tensors when threshold or limit change")
	f.DurationVar(&o.pay.Horizon, "horizon", o.pay.Horizon, "Period over which cost and savings of prediction are compared")
	f.DurationVar(&o.pay.Trial, "trial", o.pay.Trial, "Computing time that prediction may cost before it must have saved some")
	f.Float64Var(&o.pay.Worth, "worth", o.pay.Worth, "Seconds of idle computing time that a second of waiting is worth")
	f.StringVar(&o.data, "data", "", "New data folder that is kept (default: a temporary one)")
	f.BoolVar(&asJSON, "json", false, "Print JSON")
	return cmd
}

// profiles lists the profiles.
func profiles() string {
	var b strings.Builder
	for _, p := range persona.Profiles() {
		fmt.Fprintf(&b, "  %-14s %s\n", p.Name, p.About)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// findProfile returns the chosen profile.
func (o *simulate) findProfile() (persona.Profile, error) {
	p, ok := persona.Find(o.profile)
	if !ok {
		return p, cmdline.Misusef("there is no profile %q; they are:\n%s", o.profile, profiles())
	}
	if o.days != 0 { // the counts of the month are for this many days
		p.Deletions, p.Revisions = p.Deletions*o.days/p.Days, p.Revisions*o.days/p.Days
		p.Days = o.days
	}
	if err := p.Validate(); err != nil {
		return p, cmdline.Misused(err)
	}
	return p, nil
}

// run simulates a month, in a temporary folder unless one is named.
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
		return nil, cmdline.Misusef("--data: %s exists; name a new folder", dir)
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
		cmdline.Say(stderr, "simulated %d days in %.1f s", p.Days, time.Since(began).Seconds())
	}
	return r, err
}
