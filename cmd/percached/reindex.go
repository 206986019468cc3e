package main

import (
	"context"
	"io"

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
			return withService(cmd, func(ctx context.Context, s *service) error {
				return s.eachSpace(space, func(name string) error {
					if err := s.reindex(ctx, name, cmd.ErrOrStderr()); err != nil {
						return err
					}
					p := &cmdline.Printer{W: cmd.OutOrStdout()}
					p.Line("%s: done", name)
					return p.Err
				})
			})
		},
	}
	host{}.Flags(cmd, "embed-model", "threads", "gpu-layers")
	cmd.Flags().StringVar(&space, "space", "", "space to build anew (default: all)")
	return cmd
}

// withService opens the layers of a data folder around a command.
func withService(cmd *cobra.Command, run func(context.Context, *service) error) error {
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
	s, err := openService(cmd.Context(), setup{Config: c}, false, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	err = run(cmd.Context(), s)
	if shut := s.close(); err == nil {
		err = shut
	}
	return err
}

func noFolder(dir string) error {
	return fault.New(fault.NotFound, "percached", "there is no data folder %s yet: percached add and percached serve make it", dir)
}

// eachSpace calls fn with the named space, or with every space if none is named.
func (s *service) eachSpace(name string, fn func(name string) error) error {
	if name != "" {
		if _, err := s.knowledge.Space(name); err != nil {
			return err
		}
		return fn(name)
	}
	spaces, err := s.knowledge.Spaces()
	if err != nil {
		return err
	}
	for _, sp := range spaces {
		if err := fn(sp.Name); err != nil {
			return err
		}
	}
	return nil
}

// reindex builds what is derived of a space's documents anew.
func (s *service) reindex(ctx context.Context, space string, stderr io.Writer) error {
	for _, step := range []struct {
		what string
		do   func(progress func(done, total int)) error
	}{
		{"words indexed", func(p func(int, int)) error { return s.index.Rebuild(ctx, space, p) }},
		{"vectors computed", func(p func(int, int)) error { _, err := s.index.Reembed(ctx, space, p); return err }},
	} {
		tell := cmdline.Progress(stderr, space+": "+step.what)
		if err := step.do(func(done, total int) { tell(float64(done) / float64(max(total, 1))) }); err != nil {
			return err
		}
		tell(1)
	}
	_, err := s.bank.Reembed(ctx, space, s.questions)
	return err
}
