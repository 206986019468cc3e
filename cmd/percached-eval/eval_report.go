package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/folder"
	"github.com/percached/percached/eval/report"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
)

func evalReportCommand() *cobra.Command {
	var out string
	var asJSON, quote bool
	cmd := &cobra.Command{
		Use:   "report DIR...",
		Short: "Make tables and figures of a run, or put runs side by side",
		Long: `Writes report.md, report.json, tables as CSV and figures as SVG and PNG of what
eval run --out keeps: into the same folder, or into another. They hold figures only,
and no text of documents, questions or answers, unless --quote lets one question be
shown. A run that is not complete gives a report of what is done, which says so.

Several runs, of machines or models, are put side by side: --out gets side-by-side.md,
side-by-side.csv and figures.`,
		Example: `  percached-eval report run
  percached-eval report run --out docs/results/mail
  percached-eval report laptop phone --out both`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				if out == "" || asJSON || quote {
					return cmdline.Misusef("several runs go side by side with --out FOLDER, and without --json and --quote")
				}
				return sideBySide(args, out)
			}
			results, err := readRun(args[0])
			if err != nil {
				return err
			}
			r := report.Make(results)
			if out == "" {
				out = args[0]
			}
			if quote {
				r.Quote(results)
			}
			if err := r.WriteAll(out); err != nil {
				return fault.New(fault.Unavailable, "percached: eval", "%w", err)
			}
			cmdline.Say(cmd.ErrOrStderr(), "Written to %s: report.md, report.json, tables, figures.", out)
			if asJSON {
				return r.JSON(cmd.OutOrStdout())
			}
			return r.Text(cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "folder for what is written (default: that of the run)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	cmd.Flags().BoolVar(&quote, "quote", false, "show the text of one question that is followed through")
	return cmd
}

// sideBySide puts runs next to each other.
func sideBySide(dirs []string, out string) error {
	var runs []*eval.Results
	for _, dir := range dirs {
		r, err := readRun(dir)
		if err != nil {
			return err
		}
		runs = append(runs, r)
	}
	if err := report.SideBySide(out, runs); err != nil {
		return fault.New(fault.Unavailable, "percached: eval", "--out: %w", err)
	}
	return nil
}

// readRun reads what a run has kept.
func readRun(dir string) (*eval.Results, error) {
	r, err := folder.Read(dir)
	if err != nil {
		kind := fault.Invalid
		if errors.Is(err, fs.ErrNotExist) {
			kind = fault.NotFound
		}
		return nil, fault.New(kind, "percached: eval", "%w", err)
	}
	return r, nil
}
