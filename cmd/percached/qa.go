package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api"
	"github.com/percached/percached/qabank"
)

func qaCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "qa", Short: "Look at stored answers: list, renew, veto, delete", Args: cobra.NoArgs, RunE: help}
	cmd.AddCommand(qaList(), qaRenew(), qaVeto(), qaDelete())
	return cmd
}

type qaReport struct{ api.Entries }

func (r *qaReport) table(w io.Writer) error {
	p := &printer{w: w}
	for _, e := range r.Entries.Entries {
		stale := ""
		if e.Stale {
			stale = "  (stale: " + e.StaleWhy + ")"
		}
		p.line("%s  %4d hits  %q: %q%s", e.ID, e.Hits, e.Question, e.Answer, stale)
	}
	return p.err
}

func qaList() *cobra.Command {
	c := defaultSetup()
	var space string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the stored answers of a space", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withService(cmd, c, false, func(_ context.Context, s *service) error {
				all := api.Entries{Entries: []api.Entry{}}
				for after := ""; ; {
					page, err := s.entries(space, 1000, after)
					if err != nil {
						return err
					}
					all.Entries, all.Bank = append(all.Entries, page.Entries...), page.Bank
					if after = page.Next; after == "" {
						return show(cmd.OutOrStdout(), asJSON, &qaReport{all})
					}
				}
			})
		},
	}
	c.dataFlag(cmd)
	cmd.Flags().StringVar(&space, "space", defaultSpace, "space to look into")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func qaRenew() *cobra.Command {
	c := defaultSetup()
	var space string
	cmd := &cobra.Command{
		Use: "renew", Short: "Compute the stale answers of a space anew", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withService(cmd, c, true, func(ctx context.Context, s *service) error {
				if _, err := s.knowledge.Space(space); err != nil {
					return err
				}
				tell := steps(cmd.ErrOrStderr(), "answered anew")
				n, err := s.asker.Renew(ctx, space, func(done, total int) { tell(float64(done) / float64(total)) })
				if err != nil {
					return err
				}
				p := &printer{w: cmd.OutOrStdout()}
				p.line("%d answers are new", n)
				return p.err
			})
		},
	}
	c.dataFlag(cmd)
	c.answerFlags(cmd)
	cmd.Flags().StringVar(&space, "space", defaultSpace, "space to renew the answers of")
	return cmd
}

func qaVeto() *cobra.Command {
	c := defaultSetup()
	var space, asked string
	cmd := &cobra.Command{
		Use: "veto ID", Short: "Remove a wrong answer, and keep two questions apart for good", Args: cobra.ExactArgs(1),
		Long: `Removes a stored answer that was given for a question it does not answer, and
keeps the two questions from ever being served for each other again. The ID is
that of the stored answer, as qa list and ask --json tell it.`,
		Example: `  percached qa veto 4c0e... --asked "Who paid for the dinner?"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withEntry(cmd, c, args[0], func(ctx context.Context, s *service) error {
				return s.vetoAnswer(ctx, space, args[0], asked)
			})
		},
	}
	c.dataFlag(cmd)
	cmd.Flags().StringVar(&space, "space", defaultSpace, "space of the answer")
	cmd.Flags().StringVar(&asked, "asked", "", "the question for which it was given")
	cmd.MarkFlagRequired("asked")
	return cmd
}

func qaDelete() *cobra.Command {
	c := defaultSetup()
	var space string
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Remove a stored answer", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withEntry(cmd, c, args[0], func(ctx context.Context, s *service) error {
				return s.deleteAnswer(ctx, space, args[0])
			})
		},
	}
	c.dataFlag(cmd)
	cmd.Flags().StringVar(&space, "space", defaultSpace, "space of the answer")
	return cmd
}

// withEntry opens a service around what is done to a stored answer, if its name
// can be one.
func withEntry(cmd *cobra.Command, c setup, name string, do func(context.Context, *service) error) error {
	var id qabank.ID
	if err := id.UnmarshalText([]byte(name)); err != nil {
		return misuse("%q is no stored answer: %v", name, err)
	}
	return withService(cmd, c, false, do)
}
