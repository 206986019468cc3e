package main

import (
	"github.com/spf13/cobra"

	"github.com/percached/percached/eval/report"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
)

func evalCompareCommand() *cobra.Command {
	var a, b string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Say whether two runs differ, or two systems of one",
		Long: `Holds the systems that two runs share against each other, question by question, and
says for time, first token, quality and hits how far they differ, with an interval of
95 % and a probability (paired bootstrap over questions). Runs of other models,
machines, versions, seeds or plans are shown side by side and not tested: what
differs between them is named.

With --system X --against Y system X of run A is held against system Y of run B; A
and B may be the same run.`,
		Example: `  percached-eval compare before after
  percached-eval compare run run --system percached --against percache`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			first, err := readRun(args[0])
			if err != nil {
				return err
			}
			second, err := readRun(args[1])
			if err != nil {
				return err
			}
			var pairs []report.Pair
			switch {
			case a != "" && b == "":
				pairs = append(pairs, report.Pair{A: a, B: a})
			case a != "":
				pairs = append(pairs, report.Pair{A: a, B: b})
			case b != "":
				return cmdline.Misusef("--against goes with --system")
			}
			c, err := report.Compare(first, second, pairs...)
			if err != nil {
				return fault.New(fault.Invalid, "percached: eval", "%w", err)
			}
			if asJSON {
				return c.JSON(cmd.OutOrStdout())
			}
			return c.Text(cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&a, "system", "", "system of run A (default: all that both have)")
	cmd.Flags().StringVar(&b, "against", "", "system of run B (default: the same)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}
