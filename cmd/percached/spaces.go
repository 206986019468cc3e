package main

import (
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api"
)

func spacesCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "spaces", Short: "List, set and delete spaces", Args: cobra.NoArgs, RunE: help}
	cmd.AddCommand(spacesList(), spacesSet(), spacesDelete())
	return cmd
}

type spacesReport struct{ api.Spaces }

func (r *spacesReport) table(w io.Writer) error {
	p := &printer{w: w}
	for _, s := range r.Spaces.Spaces {
		set, _ := json.Marshal(s.Settings) // they came from JSON
		p.line("%-20s %-10s %6d documents %7d chunks  %s", s.Name, s.Kind, s.Documents, s.Chunks, set)
	}
	return p.err
}

func spacesList() *cobra.Command {
	c := defaultSetup()
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the spaces", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withService(cmd, c, false, func(_ context.Context, s *service) error {
				all, err := s.spaces()
				if err != nil {
					return err
				}
				return show(cmd.OutOrStdout(), asJSON, &spacesReport{all})
			})
		},
	}
	c.dataFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func spacesSet() *cobra.Command {
	c := defaultSetup()
	cmd := &cobra.Command{
		Use: "set SPACE KEY=VALUE...", Short: "Set what a space wants otherwise than the rest", Args: cobra.MinimumNArgs(2),
		Long: `Sets what a space wants otherwise than the service. The keys: threshold (0 to 1),
guard, bank, tensors (true or false), k, order (relevance, canonical), placement
(sequential, parallel), planes (kv, qkv), tensor_limit (bytes of the service's
that the tensors of the space may take). An empty value takes a setting back.

Of idle work:
  prediction   what is kept of predicted questions: off, answers (no tensors), or both
  stride       how many questions are predicted at a time (1 to 50)
  adaptive     false: predicted questions are answered whatever the threshold (true, false)
  conversion   false: entries without an answer and lost tensors stay as they are (true, false)

percached spaces list shows what is set.`,
		Example: `  percached spaces set mail threshold=0.92 planes=qkv
  percached spaces set mail prediction=off
  percached spaces set mail prediction=`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withService(cmd, c, false, func(_ context.Context, s *service) error {
				patch, err := settingPairs(args[1:])
				if err != nil {
					return err
				}
				_, _, err = s.changeSpace(args[0], patch)
				return ofSettings(err)
			})
		},
	}
	c.dataFlag(cmd)
	return cmd
}

func spacesDelete() *cobra.Command {
	c := defaultSetup()
	var asJSON bool
	cmd := &cobra.Command{
		Use: "delete SPACE", Short: "Forget a space and everything in it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withService(cmd, c, false, func(ctx context.Context, s *service) error {
				beside, err := s.beside(c)
				if err != nil {
					return err
				}
				got, err := s.deleteSpace(ctx, beside, args[0])
				if err != nil {
					return err
				}
				return s.forgotten(ctx, cmd, got, asJSON)
			})
		},
	}
	c.dataFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func reindexCommand() *cobra.Command {
	c := defaultSetup()
	var space string
	cmd := &cobra.Command{
		Use: "reindex", Short: "Build the indexes of words and vectors anew", Args: cobra.NoArgs,
		Long: `Builds the indexes of words and of vectors anew from the stored documents, and
gives stored questions new vectors if the embedding model has changed.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withService(cmd, c, false, func(ctx context.Context, s *service) error {
				return s.eachSpace(space, func(name string) error {
					if err := s.reindex(ctx, name, cmd.ErrOrStderr()); err != nil {
						return err
					}
					p := &printer{w: cmd.OutOrStdout()}
					p.line("%s: done", name)
					return p.err
				})
			})
		},
	}
	c.dataFlag(cmd)
	c.documentFlags(cmd)
	cmd.Flags().StringVar(&space, "space", "", "space to build anew (default: all)")
	return cmd
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
		tell := steps(stderr, space+": "+step.what)
		if err := step.do(func(done, total int) { tell(float64(done) / float64(max(total, 1))) }); err != nil {
			return err
		}
	}
	_, err := s.bank.Reembed(ctx, space, s.embedder)
	return err
}
