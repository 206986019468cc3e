package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

func historyCommand(dial dialer) *cobra.Command {
	return group("history", "List or delete the questions that were asked", "", historyList(dial), historyExport(dial), historyClear(dial))
}

func historyList(dial dialer) *cobra.Command {
	return apiCommand{
		use: "list", short: "List the questions of a space, oldest first",
		example: `  percached history list --space mail`, space: oneSpaceFlag,
		run: func(ctx context.Context, c *session, _ []string) error {
			all, err := c.history(ctx)
			if err != nil {
				return err
			}
			return c.printJSON(all, func(p *cmdline.Printer) {
				for _, q := range all.Questions {
					p.Line("%s  %-23s  %9.1f ms  %q", timeText(q.Asked), q.Outcome.Text(), q.TookMs, q.Question)
				}
			})
		},
	}.command(dial)
}

func historyExport(dial dialer) *cobra.Command {
	return apiCommand{
		use: "export", short: "Write the questions of a space as JSON lines, oldest first",
		example: `  percached history export --space mail`, space: oneSpaceFlag,
		long: `Writes one JSON object for each question of the history: when it was asked,
its outcome and the chunks of its answer. If the key trajectories is on, also the answer,
whether facts about the user were needed, and whether the user called the answer wrong.`,
		run: func(ctx context.Context, c *session, _ []string) error {
			all, err := c.history(ctx)
			if err != nil {
				return err
			}
			return writeLines(c.out, all.Questions)
		},
	}.command(dial)
}

// history reads the history of a space, the oldest question first.
func (c *session) history(ctx context.Context) (client.Records, error) {
	limit := pageSize
	var pages [][]client.Record // the latest first
	for p := (client.ListHistoryParams{Limit: &limit}); ; {
		r, err := c.ListHistoryWithResponse(ctx, c.space, &p)
		if err != nil {
			return client.Records{}, err
		}
		pages = append(pages, r.JSON200.Questions)
		if p.After = r.JSON200.Next; deref(p.After) == "" {
			slices.Reverse(pages)
			return client.Records{Questions: slices.Concat(pages...)}, nil
		}
	}
}

func historyClear(dial dialer) *cobra.Command {
	var yes, wait bool
	return apiCommand{
		use: "clear", short: "Delete the history of a space",
		example: `  percached history clear --space mail`, space: oneSpaceFlag,
		long: `Deletes the history of a space and rewrites its files. Stored answers keep their
questions; percached qa delete deletes those.`,
		flags: func(cmd *cobra.Command) {
			yesFlag(cmd, &yes)
			waitFlag(cmd, &wait)
		},
		run: func(ctx context.Context, c *session, _ []string) error {
			if _, err := c.GetSpaceWithResponse(ctx, c.space); err != nil {
				return err
			}
			if err := c.confirm(ctx, yes, "Delete the history of %s?", c.space); err != nil {
				return err
			}
			r, err := c.ClearHistoryWithResponse(ctx, c.space, &client.ClearHistoryParams{CleanUp: c.cleanUp(wait)})
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) {
				p.Line("deleted: %s", countOf(r.JSON200.Removed, "question"))
				c.bytesLine(p, r.JSON200.CleanedUp)
				p.Line("Stored answers keep their questions; percached qa list shows them.")
			})
		},
	}.command(dial)
}
