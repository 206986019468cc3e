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
		Short: "Check the evaluation itself on a tiny data set",
		Long: `Runs the whole evaluation on six invented notes and nine questions with the built-in
models, and compares the results with numbers that are known in advance: the outcome of
each question in each system, reused chunks and tokens, the compute of an answer, and
wrong answers. One system is a control whose bank has only wrong answers, so its quality
must be 0.

It takes some seconds and shows whether reports of this version on this machine can be
trusted. It does not measure percached; percached-eval run does. It ignores the
environment and keeps no files. The exit status is 1 if a number is wrong.`,
		Example: `  percached-eval check
  percached-eval check --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return checkEvaluation(cmd.Context(), asJSON, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON")
	return cmd
}

// checkReport lists the findings.
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
		Data: selfcheck.Data(), Dir: filepath.Join(temp, "run"), Tell: showProgress(stderr),
		Run: eval.Run{Dataset: "selfcheck", Commit: commit(), Plan: selfcheck.Plan(), Systems: chosen},
		Start: func(ctx context.Context) (*trial.Daemon, error) {
			return startDaemon(ctx, temp, stderr, plainArguments()...)
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

// Table prints all findings.
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
			fmt.Fprintf(w, "WRONG  %s: must be %s, is %s\n", f.What, f.Want, f.Got)
		}
	}
	_, err := fmt.Fprintf(w, "%d of %d numbers are correct.\n", len(r.Findings)-wrong, len(r.Findings))
	return err
}

// plainArguments set the keys that affect answers to their defaults. The tiny model gets one
// thread, because on a busy machine several threads are slower.
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
