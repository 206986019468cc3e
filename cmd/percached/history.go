package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/answer"
)

func historyCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "history", Short: "List or forget the questions that were asked", Args: cobra.NoArgs, RunE: help}
	cmd.AddCommand(historyList(), historyClear())
	return cmd
}

type historyReport struct {
	Questions []answer.Record `json:"questions"`
}

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
				if _, err := s.knowledge.Space(space); err != nil {
					return err
				}
				found, err := s.history.Recent(space, historyLimit)
				if err != nil {
					return err
				}
				return show(cmd.OutOrStdout(), asJSON, &historyReport{append([]answer.Record{}, found...)})
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
				if _, err := s.knowledge.Space(space); err != nil {
					return err
				}
				n, err := s.history.Clear(space)
				if err != nil {
					return err
				}
				// What was predicted from them says what they were.
				if _, err := s.predictor.ForgetHistory(space); err != nil {
					return err
				}
				if err := s.meta.Rewrite(ctx, nil); err != nil {
					return err
				}
				p := &printer{w: cmd.OutOrStdout()}
				p.line("forgotten: %d questions", n)
				return p.err
			})
		},
	}
	c.dataFlag(cmd)
	cmd.Flags().StringVar(&space, "space", defaultSpace, "space to forget the questions of")
	return cmd
}
