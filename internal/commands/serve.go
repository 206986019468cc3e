package commands

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/node"
)

// Serve is the command that runs a daemon.
func Serve() *cobra.Command {
	var file string
	var flags []config.Setting
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the HTTP interface, and do idle work", Args: cobra.NoArgs,
		Long: `Serves a data folder over HTTP until it is interrupted, as openapi.yaml describes.
While nobody asks, it does idle work. percached makes a missing data folder, and in it
the file "token" with the main token.

The first line of standard output is the address. /healthz and /readyz answer while
the rest is loading. Logs go to standard error.

The first SIGINT or SIGTERM lets requests in progress finish, up to shutdown-grace. The
second stops the daemon at once.

Flags override environment variables (PERCACHED_TENSOR_LIMIT for tensor-limit), which
override percached.conf in the data folder. docs/configuration.md lists all keys.`,
		Example: `  percached serve
  percached serve --data /srv/percached --listen 127.0.0.1:8000 --config percached.conf`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := config.Load(file, os.Environ(), flags, daemon.CheckConfig)
			if err != nil {
				return err
			}
			return daemon.Serve(cmd.Context(), conf, node.Dependencies{}, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration file (default: percached.conf in the data folder)")
	KeyFlags(cmd, &flags, IsFlag)
	return cmd
}
