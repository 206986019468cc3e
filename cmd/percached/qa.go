package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/percached/percached/internal/base/cmdline"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
)

func qaCommand(dial dialer) *cobra.Command {
	return group("qa", "Look at stored answers: list, search, renew, veto, delete", "", qaList(dial), qaSearch(dial), qaRenew(dial), qaVeto(dial), qaDelete(dial))
}

func qaList(dial dialer) *cobra.Command {
	return verb{
		use: "list", short: "List the stored answers of a space",
		example: `  percached qa list --space mail`, space: oneSpace,
		run: func(ctx context.Context, c *invocation, _ []string) error {
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
			return c.showAll(all, func(p *cmdline.Printer) { entries(p, all.Entries) })
		},
	}.command(dial)
}

func entries(p *cmdline.Printer, all []client.Entry) {
	for _, e := range all {
		more := ""
		if e.Stale {
			more = "  (stale: " + deref(e.StaleWhy) + ")"
		}
		if !e.Answered {
			more += "  (prefilled, no answer yet)"
		}
		if e.Similarity != nil {
			p.Text(fmt.Sprintf("%.3f  ", *e.Similarity))
		}
		p.Line("%s  %4d hits  %q: %q%s", e.ID, e.Hits, e.Question, e.Answer, more)
	}
}

func qaSearch(dial dialer) *cobra.Command {
	return verb{
		use: "search QUESTION", short: "Find the stored questions most like one",
		example: `  percached qa search "When is the dentist appointment?"`, args: cobra.ExactArgs(1), space: oneSpace,
		run: func(ctx context.Context, c *invocation, args []string) error {
			r, err := c.SearchEntriesWithResponse(ctx, c.space, &client.SearchEntriesParams{Q: args[0]})
			if err != nil {
				return err
			}
			return c.show(r.Body, func(p *cmdline.Printer) { entries(p, r.JSON200.Entries) })
		},
	}.command(dial)
}

func qaRenew(dial dialer) *cobra.Command {
	return verb{
		use: "renew", short: "Answer what is stale anew, as idle work would",
		example: `  percached qa renew --space mail`, space: oneSpace, keys: answerKeys(), need: need{Model: true},
		long: `Answers the stale entries of a space anew that somebody asked or was served. It
is idle work, done now; those that nobody asked for are predicted anew in their
turn. Exit status 1 if one failed.`,
		run: func(ctx context.Context, c *invocation, _ []string) error {
			r, err := c.DrainIdleWithResponse(ctx, &client.DrainIdleParams{Space: &c.space, Kind: []client.JobKind{"check", "refresh"}})
			if err != nil {
				return err
			}
			d := r.JSON200
			err = c.show(r.Body, func(p *cmdline.Printer) {
				p.Line("%d answers are new", d.Questions)
				if d.Questions == 0 {
					hindrances(p, d)
				}
				if d.Failed > 0 {
					p.Line("failed: %d; percached idle queue tells why", d.Failed)
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
	return verb{
		use: "veto ID", short: "Remove a wrong answer, and keep two questions apart for good",
		long: `Removes a stored answer that was given for a question it does not answer, and
keeps the two questions from ever being served for each other again. The ID is
that of the stored answer, as qa list and ask --json tell it.`,
		example: `  percached qa veto 4c0e... --asked "Who paid for the dinner?"`,
		args:    cobra.ExactArgs(1), space: oneSpace,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&asked, "asked", "", "the question for which it was given; it must be said")
		},
		before: func(args []string) error {
			if strings.TrimSpace(asked) == "" {
				return cmdline.Misusef("--asked: the question for which it was given is not said")
			}
			return isEntry(args)
		},
		run: func(ctx context.Context, c *invocation, args []string) error {
			_, err := c.VetoEntryWithResponse(ctx, c.space, args[0], client.Veto{Asked: asked})
			if err != nil {
				return err
			}
			return c.showAll(struct{}{}, func(p *cmdline.Printer) { p.Line("it is not given for that question any more") })
		},
	}.command(dial)
}

func qaDelete(dial dialer) *cobra.Command {
	return verb{
		use: "delete ID", short: "Remove a stored answer",
		example: `  percached qa delete df15ba753f7f286fcb30792fdf292d30`, args: cobra.ExactArgs(1), space: oneSpace, before: isEntry,
		run: func(ctx context.Context, c *invocation, args []string) error {
			if _, err := c.DeleteEntryWithResponse(ctx, c.space, args[0]); err != nil {
				return err
			}
			return c.showAll(struct{}{}, func(p *cmdline.Printer) { p.Line("it is gone") })
		},
	}.command(dial)
}

// isEntry checks the name of a stored answer.
func isEntry(args []string) error {
	if !isID(args[0]) {
		return cmdline.Misusef("%q is no stored answer: its ID has 32 hexadecimal digits, as qa list tells it", args[0])
	}
	return nil
}
