package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

// mostTyped is how much text may stand before the cursor, in bytes.
const mostTyped = 32 << 10

func completeCommand(dial dialer) *cobra.Command {
	var t client.Typing
	alternatives, tokens := 3, 12
	var after string
	return apiCommand{
		use: "complete [TEXT]", short: "Continue a text with a space's documents in mind",
		long: `Prints how a text may go on, the most probable continuation first, one per line. percached
searches the documents for the last sentence and puts up to two passages before the
text. Without TEXT it reads the text from standard input. It stores nothing of the text.`,
		example: `  percached complete "The budget for Heron is " --space mail
  percached complete --after " Yours, Tamsin" < draft.txt`,
		args: cobra.MaximumNArgs(1), keys: append(documentKeys(), "model", "kv", "context"), need: need{Model: true}, space: oneSpaceFlag,
		flags: func(cmd *cobra.Command) {
			f := cmd.Flags()
			f.StringVar(&after, "after", "", "Text behind the cursor, which no continuation repeats")
			f.IntVar(&alternatives, "alternatives", alternatives, "Maximum number of continuations (1-8)")
			f.IntVar(&tokens, "tokens", tokens, "Maximum tokens of a continuation (1-32)")
		},
		before: func([]string) error {
			switch {
			case alternatives < 1 || alternatives > percached.MaxAlternatives:
				return cmdline.Misusef("--alternatives: %d is not between 1 and %d", alternatives, percached.MaxAlternatives)
			case tokens < 1 || tokens > percached.MaxTyped:
				return cmdline.Misusef("--tokens: %d is not between 1 and %d", tokens, percached.MaxTyped)
			}
			return nil
		},
		run: func(ctx context.Context, c *session, args []string) error {
			text := strings.Join(args, "")
			if len(args) == 0 {
				all, err := io.ReadAll(io.LimitReader(c.in, mostTyped+1))
				if err != nil {
					return err
				}
				text = strings.TrimSuffix(string(all), "\n")
			}
			if strings.TrimSpace(text) == "" || len(text) > mostTyped {
				return cmdline.Misusef("the text has %d bytes, not 1 to %d", len(strings.TrimSpace(text)), mostTyped)
			}
			t.Before, t.After, t.Alternatives, t.MaxTokens = text, optional(after), &alternatives, &tokens
			arrived := cmdline.Waiting(c.stderr, "waiting for the model")
			r, err := c.CompleteWithResponse(ctx, c.space, t)
			arrived()
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) {
				for _, candidate := range r.JSON200.Candidates {
					p.Line("%s", candidate.Text)
				}
			})
		},
	}.command(dial)
}
