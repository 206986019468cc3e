package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api"
)

func historyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "history", Short: "List or forget the questions that were asked", Args: cobra.NoArgs, RunE: help}
	cmd.AddCommand(historyList(), historyClear())
	return cmd
}

type historyReport struct{ api.Records }

func (r *historyReport) table(w io.Writer) error {
	p := &printer{w: w}
	for _, q := range r.Questions {
		p.line("%s  %-10s  %s", q.Asked.UTC().Format(timeLayout), q.Outcome, q.Question)
	}
	return p.err
}

func historyList() *cobra.Command {
	c := defaultSetup()
	var space string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the latest questions of a space, oldest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withService(cmd, c, false, func(_ context.Context, s *service) error {
				found, err := s.asked(space, historyLimit)
				if err != nil {
					return err
				}
				return show(cmd.OutOrStdout(), asJSON, &historyReport{found})
			})
		},
	}
	c.dataFlag(cmd)
	cmd.Flags().StringVar(&space, "space", defaultSpace, "space to look into")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func historyClear() *cobra.Command {
	c := defaultSetup()
	var space string
	cmd := &cobra.Command{
		Use: "clear", Short: "Forget the questions of a space", Args: cobra.NoArgs,
		Long: `Forgets the questions that were asked of a space. Answers that are stored stay,
with their questions: see percached qa. The files are then written anew.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withService(cmd, c, false, func(ctx context.Context, s *service) error {
				got, err := s.clearHistory(space)
				if err == nil {
					err = s.library.CleanUp(ctx, nil)
				}
				if err != nil {
					return err
				}
				p := &printer{w: cmd.OutOrStdout()}
				p.line("forgotten: %d questions", got.Removed)
				return p.err
			})
		},
	}
	c.dataFlag(cmd)
	cmd.Flags().StringVar(&space, "space", defaultSpace, "space to forget the questions of")
	return cmd
}
