package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say what this binary is",
		Example: `  percached version`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "percached %s (%s/%s, %s)\n", version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
			return err
		},
	}
}

// version is the module's, and the commit where that does not tell it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return versionIn(info)
}

// versionIn reads what go build stamps in a checkout: the tag, or a version made
// of the commit's time and its first 12 digits. Then "+dirty" stands for changes
// that were not committed.
func versionIn(info *debug.BuildInfo) string {
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key != "vcs.revision" {
			continue
		}
		if commit := s.Value[:min(12, len(s.Value))]; !strings.Contains(v, commit) {
			v += " " + commit
		}
	}
	return v
}
