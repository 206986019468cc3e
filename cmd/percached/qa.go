package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

func qaCommand(dial dialer) *cobra.Command {
	return group("qa", "List, search, refresh, veto and delete stored answers", "", qaList(dial), qaSearch(dial), qaRenew(dial), qaVeto(dial), qaDelete(dial))
}

func qaList(dial dialer) *cobra.Command {
	return apiCommand{
		use: "list", short: "List the stored answers of a space",
		example: `  percached qa list --space mail`, space: oneSpaceFlag,
		run: func(ctx context.Context, c *session, _ []string) error {
			all := client.Entries{Entries: []client.Entry{}}
			limit := pageSize
			for p := (client.ListEntriesParams{Limit: &limit}); ; {
				r, err := c.ListEntriesWithResponse(ctx, c.space, &p)
				if err != nil {
					return err
				}
				all.Entries, all.Bank = append(all.Entries, r.JSON200.Entries...), r.JSON200.Bank
				if p.After = r.JSON200.Next; deref(p.After) == "" {
					break
				}
			}
			return c.printJSON(all, func(p *cmdline.Printer) { printEntries(p, all.Entries) })
		},
	}.command(dial)
}

func printEntries(p *cmdline.Printer, all []client.Entry) {
	for _, e := range all {
		more := ""
		if e.Stale {
			more = "  (stale: " + deref(e.StaleWhy) + ")"
		}
		if !e.Answered {
			more += "  (prepared, no answer yet)"
		}
		if e.Similarity != nil {
			p.Text(fmt.Sprintf("%.3f  ", *e.Similarity))
		}
		p.Line("%s  %4d hits  %q: %q%s", e.ID, e.Hits, e.Question, e.Answer, more)
	}
}

func qaSearch(dial dialer) *cobra.Command {
	return apiCommand{
		use: "search QUESTION", short: "Find the stored questions most similar to a question",
		example: `  percached qa search "When is the dentist appointment?"`, args: cobra.ExactArgs(1), space: oneSpaceFlag,
		run: func(ctx context.Context, c *session, args []string) error {
			r, err := c.SearchEntriesWithResponse(ctx, c.space, &client.SearchEntriesParams{Q: args[0]})
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) { printEntries(p, r.JSON200.Entries) })
		},
	}.command(dial)
}

func qaRenew(dial dialer) *cobra.Command {
	return apiCommand{
		use: "renew", short: "Refresh the stale answers of a space now",
		example: `  percached qa renew --space mail`, space: oneSpaceFlag, keys: answerKeys(), need: need{Model: true},
		long: `Computes new answers for stale entries that were asked or served before. It is a part
of idle work; the rest of the stale entries is left to idle work. The exit status is 1
if an answer failed.`,
		run: func(ctx context.Context, c *session, _ []string) error {
			done := cmdline.Waiting(c.stderr, "computing answers")
			r, err := c.DrainIdleWithResponse(ctx, &client.DrainIdleParams{Space: &c.space, Kind: []client.JobKind{"check", "refresh"}})
			done()
			if err != nil {
				return err
			}
			d := r.JSON200
			err = c.printBody(r.Body, func(p *cmdline.Printer) {
				p.Line("refreshed %d answers", d.Questions)
				if d.Questions == 0 {
					printReasons(p, d)
				}
				if d.Failed > 0 {
					p.Line("failed: %d; percached idle queue shows why", d.Failed)
				}
			})
			if err == nil && d.Failed > 0 {
				err = cmdline.Unwell{}
			}
			return err
		},
	}.command(dial)
}

func qaVeto(dial dialer) *cobra.Command {
	var asked string
	return apiCommand{
		use: "veto ID", short: "Delete a wrong answer, and keep two questions apart",
		long: `Deletes a stored answer that percached returned for another question, and never serves
the two questions for each other again. The ID is that of the stored answer, as
percached qa list and percached ask --json print it.`,
		example: `  percached qa veto 4c0e... --asked "Who paid for the dinner?"`,
		args:    cobra.ExactArgs(1), space: oneSpaceFlag,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&asked, "asked", "", "The question that got the wrong answer (required)")
		},
		before: func(args []string) error {
			if strings.TrimSpace(asked) == "" {
				return cmdline.Misusef("--asked is required: the question that got the wrong answer")
			}
			return checkEntryID(args)
		},
		run: func(ctx context.Context, c *session, args []string) error {
			_, err := c.VetoEntryWithResponse(ctx, c.space, args[0], client.Veto{Asked: asked})
			if err != nil {
				return err
			}
			return c.printJSON(struct{}{}, func(p *cmdline.Printer) { p.Line("vetoed") })
		},
	}.command(dial)
}

func qaDelete(dial dialer) *cobra.Command {
	var yes bool
	return apiCommand{
		use: "delete ID", short: "Delete a stored answer",
		example: `  percached qa delete df15ba753f7f286fcb30792fdf292d30`, args: cobra.ExactArgs(1), space: oneSpaceFlag, before: checkEntryID,
		flags: func(cmd *cobra.Command) { yesFlag(cmd, &yes) },
		run: func(ctx context.Context, c *session, args []string) error {
			there, err := c.GetEntryWithResponse(ctx, c.space, args[0])
			if err != nil {
				return err
			}
			if err := c.confirm(ctx, yes, "Delete the stored answer of %q?", there.JSON200.Question); err != nil {
				return err
			}
			if _, err := c.DeleteEntryWithResponse(ctx, c.space, args[0]); err != nil {
				return err
			}
			return c.printJSON(struct{}{}, func(p *cmdline.Printer) { p.Line("deleted") })
		},
	}.command(dial)
}

// checkEntryID checks the form of the ID of a stored answer.
func checkEntryID(args []string) error {
	if !isID(args[0]) {
		return cmdline.Misusef("%q is not the ID of a stored answer: 32 hexadecimal digits, as percached qa list prints them", args[0])
	}
	return nil
}
