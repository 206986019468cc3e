package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/version"
)

// versionText names this version and what it was built for.
func versionText() string {
	return fmt.Sprintf("percached %s (%s/%s, %s)", version.String(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `  percached version`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionText())
			return err
		},
	}
}
