package main

import (
	"context"

	"github.com/percached/percached/internal/node"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/token"
)

func reindexCommand() *cobra.Command {
	var space string
	cmd := &cobra.Command{
		Use: "reindex", Short: "Build the indexes of words and vectors anew", Args: cobra.NoArgs,
		Example: `  percached reindex --space mail`,
		Long: `Builds the indexes of words and of vectors anew from the stored documents, and
gives stored questions new vectors if the embedding model has changed. It needs
the data folder for itself: no daemon may run on it.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withService(cmd, func(ctx context.Context, s *node.Node) error {
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
	cmd.Flags().StringVar(&space, "space", "", "space to build anew (default: all)")
	return cmd
}

// withService opens the layers of a data folder around a command.
func withService(cmd *cobra.Command, run func(context.Context, *node.Node) error) error {
	conf, _, err := configOf(cmd)
	if err != nil {
		return err
	}
	c := conf.Now()
	if !home.Exists(c.Data) {
		return noFolder(c.Data)
	}
	if err := token.Verify(c.Data); err != nil { // as every command on a data folder
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
	return fault.New(fault.NotFound, "percached", "there is no data folder %s yet: percached add and percached serve make it", dir)
}
