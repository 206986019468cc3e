package main

import (
	"os"

	"github.com/percached/percached/internal/daemon"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/node"
)

func serveCommand() *cobra.Command {
	var file string
	var flags []config.Setting
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the HTTP interface, and do idle work by itself", Args: cobra.NoArgs,
		Long: `Serves a data folder over HTTP until it is interrupted: questions, documents, spaces
and all else that openapi.yaml describes. While nobody asks, it does idle work. The
folder is made if there is none, and with it the main token, in the file "token".

The address stands on standard output, as one line, as soon as it can be called:
/healthz and /readyz answer while the rest is loading. Logs go to standard error.

The first SIGINT or SIGTERM lets answers that are under way end, for a while; the
second ends at once.

What flags say beats variables of the environment (PERCACHED_TENSOR_LIMIT for
tensor-limit), which beat percached.conf in the data folder, or the file that
--config names in its place. docs/configuration.md lists all that can be set.`,
		Example: `  percached serve
  percached serve --data /srv/percached --listen 127.0.0.1:8000 --config percached.conf`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := config.Load(file, os.Environ(), flags, daemon.CheckConfig)
			if err != nil {
				return err
			}
			return daemon.Serve(cmd.Context(), conf, node.Parts{}, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "file with lines of the form key = value (default: percached.conf in the data folder)")
	keyFlags(cmd, &flags, isFlag)
	return cmd
}
