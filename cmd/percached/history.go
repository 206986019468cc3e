package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

func historyCommand(dial dialer) *cobra.Command {
	return group("history", "List or delete the questions that were asked", "", historyList(dial), historyExport(dial), historyClear(dial))
}

func historyList(dial dialer) *cobra.Command {
	return apiCommand{
		use: "list", short: "List the latest questions of a space, oldest first",
		example: `  percached history list --space mail`, space: oneSpaceFlag,
		run: func(ctx context.Context, c *session, _ []string) error {
			limit := pageSize
			r, err := c.ListHistoryWithResponse(ctx, c.space, &client.ListHistoryParams{Limit: &limit})
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) {
				for _, q := range r.JSON200.Questions {
					p.Line("%s  %-10s  %9.1f ms  %q", q.Asked.UTC().Format(TimeLayout), q.Outcome, q.TookMs, q.Question)
				}
			})
		},
	}.command(dial)
}

func historyExport(dial dialer) *cobra.Command {
	return apiCommand{
		use: "export", short: "Write the latest questions of a space as JSON lines, oldest first",
		example: `  percached history export --space mail`, space: oneSpaceFlag,
		long: `Writes one JSON object for each question of the history, at most 1000: when it was asked,
its outcome and the chunks of its answer. If the key trajectories is on, also the answer,
whether facts about the user were needed, and whether the user called the answer wrong.`,
		run: func(ctx context.Context, c *session, _ []string) error {
			limit := pageSize
			r, err := c.ListHistoryWithResponse(ctx, c.space, &client.ListHistoryParams{Limit: &limit})
			if err != nil {
				return err
			}
			return writeLines(c.out, r.JSON200.Questions)
		},
	}.command(dial)
}

func historyClear(dial dialer) *cobra.Command {
	var wait bool
	return apiCommand{
		use: "clear", short: "Delete the history of a space",
		example: `  percached history clear --space mail`, space: oneSpaceFlag,
		long: `Deletes the history of a space and rewrites its files. Stored answers keep their
questions; percached qa delete deletes those.`,
		flags: func(cmd *cobra.Command) { waitFlag(cmd, &wait) },
		run: func(ctx context.Context, c *session, _ []string) error {
			r, err := c.ClearHistoryWithResponse(ctx, c.space, &client.ClearHistoryParams{CleanUp: c.cleanUp(wait)})
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) {
				p.Line("deleted: %d questions", r.JSON200.Removed)
				c.bytesLine(p, r.JSON200.CleanedUp)
				p.Line("Stored answers keep their questions; percached qa list shows them.")
			})
		},
	}.command(dial)
}
