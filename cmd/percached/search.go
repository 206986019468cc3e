package main

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

func searchCommand(dial dialer) *cobra.Command {
	limit := 10
	return apiCommand{
		use: "search WORDS...", short: "Find passages of documents by words and meaning",
		long: `Prints the passages of a space's documents that are nearest to the words, best first.
It needs no language model.`,
		example: `  percached search dentist appointment --space mail`,
		args:    cobra.MinimumNArgs(1), keys: documentKeys(), space: oneSpaceFlag,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().IntVar(&limit, "limit", limit, "Maximum number of passages (1-50)")
		},
		before: func(words []string) error {
			if n := utf8.RuneCountInString(strings.TrimSpace(strings.Join(words, " "))); n < 1 || n > 200 {
				return cmdline.Misusef("the words have %d characters, not 1 to 200", n)
			}
			if limit < 1 || limit > 50 {
				return cmdline.Misusef("--limit: %d is not between 1 and 50", limit)
			}
			return nil
		},
		run: func(ctx context.Context, c *session, words []string) error {
			r, err := c.SearchDocumentsWithResponse(ctx, c.space, &client.SearchDocumentsParams{Q: strings.Join(words, " "), Limit: &limit})
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) {
				for i, f := range r.JSON200.Passages {
					if i > 0 {
						p.Line("")
					}
					p.Line("%s  %s", f.Document, f.About)
					p.Line("%s", strings.TrimSpace(f.Quote))
				}
			})
		},
	}.command(dial)
}
