package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

func factsCommand(dial dialer) *cobra.Command {
	return group("facts", "List, add, change and delete facts about you", "", factsList(dial), factsAdd(dial), factsEdit(dial), factsDelete(dial), factsExport(dial))
}

func factsList(dial dialer) *cobra.Command {
	return apiCommand{
		use: "list", short: "List the facts of a space, latest first",
		example: `  percached facts list`, space: oneSpaceFlag,
		run: func(ctx context.Context, c *session, _ []string) error {
			r, err := c.ListFactsWithResponse(ctx, c.space)
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) { printFacts(p, r.JSON200.Facts) })
		},
	}.command(dial)
}

func printFacts(p *cmdline.Printer, facts []client.Fact) {
	for _, f := range facts {
		p.Line("%s  %-10s  %s", f.ID, deref(f.Since), f.Text)
	}
}

func factsAdd(dial dialer) *cobra.Command {
	return apiCommand{
		use: "add TEXT", short: "Remember something about you",
		example: `  percached facts add "I live in Bergen and I'm allergic to peanuts."
  percached facts add "My car is parked on level 2"`,
		long: `Stores what the text says about you. If percached finds no fact in it, it stores the text
as a note. A new value of an attribute with one value, such as your home, ends the older
fact. Secrets are refused.`,
		args: cobra.ExactArgs(1), space: oneSpaceFlag,
		run: func(ctx context.Context, c *session, args []string) error {
			r, err := c.AddFactWithResponse(ctx, c.space, client.NewFact{Text: &args[0]})
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) { printFacts(p, r.JSON200.Facts) })
		},
	}.command(dial)
}

func factsEdit(dial dialer) *cobra.Command {
	var since, until string
	var set map[string]*string
	return apiCommand{
		use: "edit ID [VALUE]", short: "Change the value or the days of a fact",
		example: `  percached facts edit 2f339dba54caf91f6e24c41e1c405272 Oslo
  percached facts edit 2f339dba54caf91f6e24c41e1c405272 --until 2026-05-01`,
		args: cobra.RangeArgs(1, 2), space: oneSpaceFlag,
		before: func(args []string) error { return checkDocumentIDs(args[:1]) },
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&since, "since", "", "First day, such as 2026-03-04; empty: unknown")
			cmd.Flags().StringVar(&until, "until", "", "Last day; empty: it still holds")
			cmd.PreRun = func(cmd *cobra.Command, _ []string) {
				set = map[string]*string{}
				for name, day := range map[string]*string{"since": &since, "until": &until} {
					if cmd.Flags().Changed(name) {
						set[name] = day
					}
				}
			}
		},
		run: func(ctx context.Context, c *session, args []string) error {
			change := client.FactChange{Since: set["since"], Until: set["until"]}
			if len(args) > 1 {
				change.Value = &args[1]
			}
			if change == (client.FactChange{}) {
				return cmdline.Misusef("nothing to change: pass a value, --since or --until")
			}
			r, err := c.ChangeFactWithResponse(ctx, c.space, args[0], change)
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) { printFacts(p, []client.Fact{*r.JSON200}) })
		},
	}.command(dial)
}

func factsDelete(dial dialer) *cobra.Command {
	var yes, wait bool
	return apiCommand{
		use: "delete ID", short: "Delete a fact and everything made from it",
		example: `  percached facts delete 2f339dba54caf91f6e24c41e1c405272`,
		long: `Deletes the fact with its tensors and the stored answers and questions of the history
that depend on it, and rewrites the files of the data folder without it.`,
		args: cobra.ExactArgs(1), space: oneSpaceFlag, before: checkDocumentIDs,
		flags: func(cmd *cobra.Command) {
			yesFlag(cmd, &yes)
			waitFlag(cmd, &wait)
		},
		run: func(ctx context.Context, c *session, args []string) error {
			there, err := c.GetFactWithResponse(ctx, c.space, args[0])
			if err != nil {
				return err
			}
			if err := c.confirm(ctx, yes, "Delete the fact %q and everything made from it?", there.JSON200.Text); err != nil {
				return err
			}
			r, err := c.DeleteFactWithResponse(ctx, c.space, args[0], &client.DeleteFactParams{CleanUp: c.cleanUp(wait)})
			if err != nil {
				return err
			}
			return c.receipt(*r.JSON200)
		},
	}.command(dial)
}

func factsExport(dial dialer) *cobra.Command {
	return apiCommand{
		use: "export", short: "Write the facts of a space as JSON lines",
		example: `  percached facts export`, space: oneSpaceFlag,
		run: func(ctx context.Context, c *session, _ []string) error {
			r, err := c.ListFactsWithResponse(ctx, c.space)
			if err != nil {
				return err
			}
			return writeLines(c.out, r.JSON200.Facts)
		},
	}.command(dial)
}

// writeLines writes one line of JSON for each value.
func writeLines[T any](w io.Writer, all []T) error {
	var b strings.Builder
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	for _, v := range all {
		if err := lines.Encode(v); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
