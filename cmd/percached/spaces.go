package main

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/percached/percached/internal/base/cmdline"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
)

func spacesCommand(dial dialer) *cobra.Command {
	return group("spaces", "List, create, set and delete spaces", "", spacesList(dial), spacesCreate(dial), spacesSet(dial), spacesDelete(dial))
}

func spacesList(dial dialer) *cobra.Command {
	return verb{
		use: "list", short: "List the spaces",
		example: `  percached spaces list --json`,
		run: func(ctx context.Context, c *invocation, _ []string) error {
			r, err := c.ListSpacesWithResponse(ctx)
			if err != nil {
				return err
			}
			return c.show(r.Body, func(p *cmdline.Printer) {
				for _, s := range r.JSON200.Spaces {
					set, _ := json.Marshal(s.Settings) // they came from JSON
					p.Line("%-20s %-10s %6d documents %7d chunks  %s", s.Name, s.Kind, s.Documents, s.Chunks, set)
				}
			})
		},
	}.command(dial)
}

func spacesCreate(dial dialer) *cobra.Command {
	var kind string
	return verb{
		use: "create SPACE", short: "Make a space that is empty", args: cobra.ExactArgs(1), need: need{Folder: true},
		example: `  percached spaces create meetings --kind meetings`,
		flags: func(cmd *cobra.Command) {
			kindFlag(cmd, &kind, "emails", "what it holds")
		},
		before: func(args []string) error { return isSpace("SPACE", args[0]) },
		run: func(ctx context.Context, c *invocation, args []string) error {
			r, err := c.CreateSpaceWithResponse(ctx, client.NewSpace{Name: args[0], Kind: optional(client.SpaceKind(kind))})
			if err != nil {
				return err
			}
			return c.show(r.Body, func(p *cmdline.Printer) { p.Line("%s is there, for %s", r.JSON201.Name, r.JSON201.Kind) })
		},
	}.command(dial)
}

func spacesSet(dial dialer) *cobra.Command {
	return verb{
		use: "set SPACE KEY=VALUE...", short: "Set what a space wants otherwise than the rest", args: cobra.MinimumNArgs(2), complete: firstSpaceOf(dial),
		long: `Sets what a space wants otherwise than the service. The keys: threshold (0 to 1),
guard, bank, tensors (true or false), k, order (relevance, canonical), placement
(sequential, parallel), planes (kv, qkv), whole (true: instructions and chunks
are made tokens as one text; then no tensors are used or kept), tensor_limit
(bytes of the service's that the tensors of the space may take). An empty value
takes a setting back.

Of idle work:
  prediction   what is kept of predicted questions: off, answers (no tensors), or both
  stride       how many questions are predicted at a time (1 to 50)
  adaptive     false: predicted questions are answered whatever the threshold (true, false)
  conversion   false: entries without an answer and lost tensors stay as they are (true, false)

percached spaces list shows what is set.`,
		example: `  percached spaces set mail threshold=0.92 planes=qkv
  percached spaces set mail prediction=off
  percached spaces set mail prediction=`,
		before: func(args []string) error {
			for _, pair := range args[1:] {
				if strings.Index(pair, "=") < 1 {
					return cmdline.Misusef("%q is no KEY=VALUE", pair)
				}
			}
			return isSpace("SPACE", args[0])
		},
		run: func(ctx context.Context, c *invocation, args []string) error {
			r, err := c.ChangeSpaceWithBodyWithResponse(ctx, args[0], "application/merge-patch+json", bytes.NewReader(patch(args[1:])))
			if err != nil {
				return err
			}
			return c.show(r.Body, func(p *cmdline.Printer) {
				set, _ := json.Marshal(r.JSON200.Settings) // they came from JSON
				p.Line("%s: %s", r.JSON200.Name, set)
			})
		},
	}.command(dial)
}

// spaceName is what a space may be called. Another name is refused here: as a part
// of a path, one with dots leads elsewhere.
var spaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

func isSpace(where, name string) error {
	if !spaceName.MatchString(name) {
		return cmdline.Misusef("%s: %q is no name of a space: those have 1 to 64 of a-z, 0-9, dot, dash and underscore, and begin with a letter or digit", where, name)
	}
	return nil
}

// patch makes a merge patch of settings that are given as KEY=VALUE; an empty value
// takes one back.
func patch(given []string) []byte {
	all := map[string]json.RawMessage{}
	for _, pair := range given {
		key, value, _ := strings.Cut(pair, "=")
		switch {
		case value == "":
			all[key] = json.RawMessage("null")
		case json.Valid([]byte(value)):
			all[key] = json.RawMessage(value)
		default:
			all[key], _ = json.Marshal(value) // a string always marshals
		}
	}
	b, _ := json.Marshal(all) // what was valid marshals
	return b
}

func spacesDelete(dial dialer) *cobra.Command {
	var yes bool
	return verb{
		use: "delete SPACE", short: "Forget a space and everything in it",
		example: `  percached spaces delete mail`, args: cobra.ExactArgs(1), complete: firstSpaceOf(dial),
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask first, as is done on a terminal")
		},
		before: func(args []string) error { return isSpace("SPACE", args[0]) },
		run: func(ctx context.Context, c *invocation, args []string) error {
			there, err := c.GetSpaceWithResponse(ctx, args[0])
			if err != nil {
				return err
			}
			if !yes && !c.agrees("forget %s with its %d documents, and all that was made of them?", args[0], there.JSON200.Documents) {
				c.say("nothing was forgotten")
				return cmdline.Unwell{}
			}
			c.say("writing the files anew without it")
			r, err := c.DeleteSpaceWithResponse(ctx, args[0], &client.DeleteSpaceParams{CleanUp: optional(true)})
			if err != nil {
				return err
			}
			return c.receipt(*r.JSON200)
		},
	}.command(dial)
}
