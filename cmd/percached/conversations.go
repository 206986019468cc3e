package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

func conversationsCommand(dial dialer) *cobra.Command {
	return group("conversations", "Create, list, show and delete conversations", "", conversationsNew(dial), conversationsList(dial), conversationsShow(dial), conversationsDelete(dial))
}

func conversationsNew(dial dialer) *cobra.Command {
	var instructions string
	return apiCommand{
		use: "new [TITLE]", short: "Create a conversation and print its ID",
		long: `Creates a conversation and prints its ID. Ask its questions with
percached ask --conversation ID: a question may lean on what was said before.`,
		example: `  percached conversations new "Trip to Bergen"
  percached conversations new --instructions "Answer in French"`,
		args: cobra.MaximumNArgs(1), space: oneSpaceFlag,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&instructions, "instructions", "", "Instructions for each question, such as \"Answer in French\"")
		},
		run: func(ctx context.Context, c *session, args []string) error {
			r, err := c.CreateConversationWithResponse(ctx, c.space, client.NewConversation{Title: optional(strings.Join(args, "")), Instructions: optional(instructions)})
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) { p.Line("%s", r.JSON201.ID) })
		},
	}.command(dial)
}

func conversationsList(dial dialer) *cobra.Command {
	return apiCommand{
		use: "list", short: "List the conversations of a space, the latest used first",
		example: `  percached conversations list --space mail`, space: oneSpaceFlag,
		run: func(ctx context.Context, c *session, _ []string) error {
			limit := pageSize
			r, err := c.ListConversationsWithResponse(ctx, c.space, &client.ListConversationsParams{Limit: &limit})
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) {
				for _, t := range r.JSON200.Conversations {
					p.Line("%s  %s  %4d turns  %s", t.ID, timeText(t.Used), t.Count, t.Title)
				}
			})
		},
	}.command(dial)
}

func conversationsShow(dial dialer) *cobra.Command {
	return apiCommand{
		use: "show ID", short: "Show a conversation with its latest turns",
		example: `  percached conversations show 5d2f0a8c11e94b7f9a3c6d20e8b14f77`, args: cobra.ExactArgs(1), space: oneSpaceFlag, before: checkConversationID,
		run: func(ctx context.Context, c *session, args []string) error {
			limit := pageSize
			r, err := c.GetConversationWithResponse(ctx, c.space, args[0], &client.GetConversationParams{Limit: &limit})
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) {
				if s := deref(r.JSON200.Summary); s != "" {
					p.Line("Summary of what no longer fits into a prompt: %s\n", s)
				}
				for _, t := range r.JSON200.Turns {
					p.Line("%s: %s", t.Role, t.Text)
				}
			})
		},
	}.command(dial)
}

func conversationsDelete(dial dialer) *cobra.Command {
	var yes bool
	return apiCommand{
		use: "delete ID", short: "Delete a conversation with its turns, summary and tensors",
		example: `  percached conversations delete 5d2f0a8c11e94b7f9a3c6d20e8b14f77`, args: cobra.ExactArgs(1), space: oneSpaceFlag, before: checkConversationID,
		flags: func(cmd *cobra.Command) { yesFlag(cmd, &yes) },
		run: func(ctx context.Context, c *session, args []string) error {
			one := 1
			there, err := c.GetConversationWithResponse(ctx, c.space, args[0], &client.GetConversationParams{Limit: &one})
			if err != nil {
				return err
			}
			if err := c.confirm(ctx, yes, "Delete the conversation %q with its %d turns?", there.JSON200.Title, there.JSON200.Count); err != nil {
				return err
			}
			r, err := c.DeleteConversationWithResponse(ctx, c.space, args[0])
			if err != nil {
				return err
			}
			return c.receipt(*r.JSON200)
		},
	}.command(dial)
}

// checkConversationID checks the form of a conversation's ID.
func checkConversationID(names []string) error {
	for _, n := range names {
		if !isID(n) {
			return cmdline.Misusef("%q is not a conversation ID: 32 hexadecimal digits, as percached conversations list prints them", n)
		}
	}
	return nil
}
