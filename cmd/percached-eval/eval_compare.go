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
		Short: "Test whether two runs, or two systems, differ",
		Long: `Compares the common systems of two runs question by question. For time, first token,
quality and hits it prints the difference with a 95 % interval and a probability (paired
bootstrap over questions). Runs of different models, machines, versions, seeds or plans
are shown side by side without a test, and the differences are listed.

--system X --against Y compares system X of run A with system Y of run B. A and B may be
the same run.`,
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
				return cmdline.Misusef("--against needs --system")
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
	cmd.Flags().StringVar(&a, "system", "", "System of run A (default: all common systems)")
	cmd.Flags().StringVar(&b, "against", "", "System of run B (default: the same system)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON")
	return cmd
}
