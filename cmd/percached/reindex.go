package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/token"
)

func reindexCommand() *cobra.Command {
	var space string
	cmd := &cobra.Command{
		Use: "reindex", Short: "Rebuild the indexes of words and vectors", Args: cobra.NoArgs,
		Example: `  percached reindex --space mail`,
		Long: `Rebuilds the indexes of words and vectors from the stored documents. If the embedding
model has changed, it also computes new vectors for stored questions. Stop the daemon
first.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withNode(cmd, func(ctx context.Context, s *node.Node) error {
				return s.EachSpace(space, func(name string) error {
					if err := s.Reindex(ctx, name, cmd.ErrOrStderr()); err != nil {
						return err
					}
					p := &cmdline.Printer{W: cmd.OutOrStdout()}
					p.Line("%s: done", name)
					return p.Err
				})
			})
		},
	}
	linkFlags(cmd, "embed-model", "threads", "gpu-layers")
	cmd.Flags().StringVar(&space, "space", "", "Name of the space (default: all spaces)")
	return cmd
}

// withNode opens the data folder for run, and closes it afterwards.
func withNode(cmd *cobra.Command, run func(context.Context, *node.Node) error) error {
	conf, _, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	c := conf.Now()
	if !home.Exists(c.Data) {
		return noFolder(c.Data)
	}
	if err := token.Verify(c.Data); err != nil { // as every command does
		return err
	}
	s, err := node.Open(cmd.Context(), node.Options{Config: c}, false, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	err = run(cmd.Context(), s)
	if shut := s.Close(); err == nil {
		err = shut
	}
	return err
}

func noFolder(dir string) error {
	return fault.New(fault.NotFound, "percached", "there is no data folder %s; percached add and percached serve create it", dir)
}
