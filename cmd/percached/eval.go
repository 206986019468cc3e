package main

import "github.com/spf13/cobra"

func evalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure a daemon from outside: answers, times, reuse",
		Args:  cobra.NoArgs,
		RunE:  help,
	}
	cmd.AddCommand(evalRunCommand(), evalReportCommand(), evalCompareCommand(), evalCheckCommand(), evalLoadCommand())
	return cmd
}
