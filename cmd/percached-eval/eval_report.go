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
		Short: "Write tables and figures of one or several runs",
		Long: `Writes report.md, report.json, tables as CSV and figures as SVG, for light and dark
pages, for a run that percached-eval run --out stored. They contain no text of documents,
questions or answers, except one question with --quote. For an incomplete run the report
covers the finished part and says so.

For several runs, such as different machines or models, it writes side-by-side.md,
side-by-side.csv and figures to --out.`,
		Example: `  percached-eval report run
  percached-eval report run --out docs/results/mail-smollm2
  percached-eval report laptop phone --out both`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				if out == "" || asJSON || quote {
					return cmdline.Misusef("several runs need --out FOLDER, and allow neither --json nor --quote")
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
			cmdline.Say(cmd.ErrOrStderr(), "Wrote report.md, report.json, tables and figures to %s.", out)
			if asJSON {
				return r.JSON(cmd.OutOrStdout())
			}
			return r.Text(cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "Output folder (default: the folder of the run)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON")
	cmd.Flags().BoolVar(&quote, "quote", false, "Show the text of one example question")
	return cmd
}

// sideBySide writes the comparison of several runs.
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

// readRun reads a stored run.
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
