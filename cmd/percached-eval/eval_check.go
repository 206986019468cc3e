package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/selfcheck"
	"github.com/percached/percached/eval/trial"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/config"
)

func evalCheckCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "See whether the evaluation measures right, on a tiny set",
		Long: `Runs the whole evaluation on six invented notes and nine questions, with the built-in
models, and holds what comes out against numbers that are known by hand: how each
question must come of each system, which chunks and tokens are reused, what an answer
takes to compute, which served answers are wrong. One of the systems is a control,
whose bank is filled with wrong answers before: quality must fall to nothing there.

It takes some seconds, and says whether a report can be trusted on this machine and
with this version. It says nothing of how good or fast percached is: that is what
percached-eval run is for. Settings of the environment do not count, and nothing is
left behind. The exit status is 1 if a number is not what it must be.`,
		Example: `  percached-eval check
  percached-eval check --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return checkEvaluation(cmd.Context(), asJSON, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// checkReport is what was found.
type checkReport struct {
	Well     bool                `json:"well"`
	Findings []selfcheck.Finding `json:"findings"`
}

func checkEvaluation(ctx context.Context, asJSON bool, stdout, stderr io.Writer) error {
	const op = "percached: eval"
	chosen, err := selfcheck.Systems()
	if err != nil {
		return fault.New(fault.Internal, op, "%w", err)
	}
	temp, err := os.MkdirTemp("", "percached-check-")
	if err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	defer os.RemoveAll(temp)
	results, err := trial.Run(ctx, trial.Setup{
		Data: selfcheck.Data(), Dir: filepath.Join(temp, "run"), Tell: howFar(stderr),
		Run: eval.Run{Dataset: "selfcheck", Commit: commit(), Plan: selfcheck.Plan(), Systems: chosen},
		Start: func(ctx context.Context) (*trial.Daemon, error) {
			return startTried(ctx, temp, stderr, plainArguments()...)
		},
	})
	if err != nil {
		return fault.Wrap(op, err)
	}
	r := checkReport{Findings: selfcheck.Check(results)}
	r.Well = selfcheck.Well(r.Findings)
	if err := cmdline.Show(stdout, asJSON, r); err != nil {
		return err
	}
	if !r.Well {
		return cmdline.Unwell{}
	}
	return nil
}

// table tells all that was looked at, and in the end what is wrong.
func (r checkReport) Table(w io.Writer) error {
	for _, f := range r.Findings {
		if f.OK {
			fmt.Fprintf(w, "ok     %s: %s\n", f.What, f.Got)
		}
	}
	wrong := 0
	for _, f := range r.Findings {
		if !f.OK {
			wrong++
			fmt.Fprintf(w, "WRONG  %s: it must be %s, and is %s\n", f.What, f.Want, f.Got)
		}
	}
	_, err := fmt.Fprintf(w, "%d of %d numbers are what they must be.\n", len(r.Findings)-wrong, len(r.Findings))
	return err
}

// plainArguments set what bears on answers to its default. The model is small: where
// others compute, too, threads that wait for each other are slower than one.
func plainArguments() []string {
	usual := config.DaemonDefault()
	args := []string{"--threads=1"}
	for _, k := range config.Keys() {
		if k.Flag && !slices.Contains([]string{"data", "threads", "listen"}, k.Name) {
			args = append(args, "--"+k.Name+"="+k.Of(&usual).Get())
		}
	}
	return args
}
