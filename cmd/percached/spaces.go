package main

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

func spacesCommand(dial dialer) *cobra.Command {
	return group("spaces", "List, create, change, move and delete spaces", "", spacesList(dial), spacesCreate(dial), spacesSet(dial), spacesDelete(dial),
		spacesExport(dial), spacesImport(dial), spacesMove(dial), spacesFollow(dial))
}

func spacesList(dial dialer) *cobra.Command {
	return apiCommand{
		use: "list", short: "List the spaces",
		example: `  percached spaces list --json`,
		run: func(ctx context.Context, c *session, _ []string) error {
			r, err := c.ListSpacesWithResponse(ctx)
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) {
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
	return apiCommand{
		use: "create SPACE", short: "Create an empty space", args: cobra.ExactArgs(1), need: need{Folder: true},
		example: `  percached spaces create meetings --kind meetings`,
		flags: func(cmd *cobra.Command) {
			kindFlag(cmd, &kind, "emails", "Kind of documents")
		},
		before: func(args []string) error { return checkSpaceName("SPACE", args[0]) },
		run: func(ctx context.Context, c *session, args []string) error {
			r, err := c.CreateSpaceWithResponse(ctx, client.NewSpace{Name: args[0], Kind: optional(client.SpaceKind(kind))})
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) { p.Line("created %s for %s", r.JSON201.Name, r.JSON201.Kind) })
		},
	}.command(dial)
}

func spacesSet(dial dialer) *cobra.Command {
	return apiCommand{
		use: "set SPACE KEY=VALUE...", short: "Change the settings of a space", args: cobra.MinimumNArgs(2), complete: firstSpaceOf(dial),
		long: `Changes settings of a space; they override the configuration. An empty value removes
a setting. percached spaces list shows the settings.

Answers:
  threshold     minimum similarity (0-1) of a stored question whose answer may be returned
  max_wrong     maximum share (0-1) of wrong answers among stored answers returned for
                a question in other words; 0: only exact repeats and questions that clearly mean the same
  bank          return stored answers: true or false
  guard         test that a similar question means the same: true or false
  drafts        check words of stored answers and of the prompt in batches: true or false
  k             number of chunks in a prompt (1-64)
  order         order of chunks: relevance or canonical
  placement     placement of chunks: sequential or parallel

History:
  keep_days     days after which questions, answers and conversations that nobody used
                since are deleted (0: never)

Tensors:
  tensors       store and reuse tensors: true or false
  tensor_limit  maximum disk space for the tensors of the space, in bytes
  planes        tensors to store: kv or qkv
  whole         true: tokenize instructions and chunks as one text, without tensors

Moving:
  read_only     true: refuse changes of the space
  moved_to      base URL of the node that has the space now; requests are redirected there
  copy_of       base URL of the node of which the space is a copy (percached spaces follow)

Idle work:
  prediction    what to store for predicted questions: off, answers or both
  stride        number of questions predicted at a time (1-50)
  adaptive      false: answer predicted questions at any threshold
  conversion    false: do not complete unanswered entries or lost tensors`,
		example: `  percached spaces set mail threshold=0.92 planes=qkv
  percached spaces set mail prediction=off
  percached spaces set mail prediction=`,
		before: func(args []string) error {
			for _, pair := range args[1:] {
				if strings.Index(pair, "=") < 1 {
					return cmdline.Misusef("%q is not of the form KEY=VALUE", pair)
				}
			}
			return checkSpaceName("SPACE", args[0])
		},
		run: func(ctx context.Context, c *session, args []string) error {
			r, err := c.ChangeSpaceWithBodyWithResponse(ctx, args[0], "application/merge-patch+json", bytes.NewReader(mergePatch(args[1:])))
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) {
				set, _ := json.Marshal(r.JSON200.Settings) // they came from JSON
				p.Line("%s: %s", r.JSON200.Name, set)
			})
		},
	}.command(dial)
}

// spaceName is the form of a space's name. Other names are refused here, because a name
// such as .. would change the path of a request.
var spaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

func checkSpaceName(where, name string) error {
	if !spaceName.MatchString(name) {
		return cmdline.Misusef("%s: %q is not a valid name: use 1 to 64 of a-z, 0-9, dot, dash and underscore, with a letter or digit first", where, name)
	}
	return nil
}

// mergePatch makes a merge patch of KEY=VALUE settings. An empty value removes a setting.
func mergePatch(given []string) []byte {
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
	b, _ := json.Marshal(all) // valid JSON always marshals
	return b
}

func spacesDelete(dial dialer) *cobra.Command {
	var yes, wait bool
	return apiCommand{
		use: "delete SPACE", short: "Delete a space and everything in it",
		example: `  percached spaces delete mail`, args: cobra.ExactArgs(1), complete: firstSpaceOf(dial),
		flags: func(cmd *cobra.Command) {
			yesFlag(cmd, &yes)
			waitFlag(cmd, &wait)
		},
		before: func(args []string) error { return checkSpaceName("SPACE", args[0]) },
		run: func(ctx context.Context, c *session, args []string) error {
			there, err := c.GetSpaceWithResponse(ctx, args[0])
			if err != nil {
				return err
			}
			if err := c.confirm(ctx, yes, "Delete %s with its %d documents and everything made from them?", args[0], there.JSON200.Documents); err != nil {
				return err
			}
			r, err := c.DeleteSpaceWithResponse(ctx, args[0], &client.DeleteSpaceParams{CleanUp: c.cleanUp(wait)})
			if err != nil {
				return err
			}
			return c.receipt(*r.JSON200)
		},
	}.command(dial)
}
