package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/folder"
	"github.com/percached/percached/eval/report"
	"github.com/percached/percached/internal/fault"
)

func evalReportCommand() *cobra.Command {
	var out string
	var asJSON, quote bool
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Make tables and figures of a run",
		Long: `Writes report.md, report.json, tables as CSV and figures as SVG and PNG of what
eval run --out keeps: into the same folder, or into another. They hold figures only,
and no text of documents, questions or answers, unless --quote lets one question be
shown. A run that is not complete gives a report of what is done, which says so.`,
		Example: `  percached eval report run
  percached eval report run --out docs/results/mail`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
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
			say(cmd.ErrOrStderr(), "Written to %s: report.md, report.json, tables, figures.", out)
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
