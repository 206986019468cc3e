package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/link"
)

// linkCommands are the commands that send requests to percached.
func linkCommands(dial dialer) []*cobra.Command {
	return []*cobra.Command{
		askCommand(dial), conversationsCommand(dial), completeCommand(dial), searchCommand(dial), addCommand(dial), watchCommand(dial), sourcesCommand(dial), documentsCommand(dial), factsCommand(dial), spacesCommand(dial), cacheCommand(dial), qaCommand(dial), gateCommand(dial), historyCommand(dial),
		predictCommand(dial), idleCommand(dial), statusCommand(dial), calibrateCommand(dial), backupCommand(dial), mcpCommand(dial),
	}
}

// apiCommand is a command that sends requests to percached.
type apiCommand struct {
	use, short, long, example string
	args                      cobra.PositionalArgs
	keys                      []string // configuration keys that have a flag
	need                      need
	space                     spaceFlag
	flags                     func(cmd *cobra.Command)
	complete                  cobra.CompletionFunc      // of the arguments; may be nil
	before                    func(args []string) error // checks the arguments before the link opens
	run                       func(ctx context.Context, c *session, args []string) error
}

// spaceFlag says what the flag --space of a command means.
type spaceFlag uint8

const (
	noSpaceFlag   spaceFlag = iota // the command has no such flag
	oneSpaceFlag                   // one space; the default is link.DefaultSpace
	allSpacesFlag                  // one space; the default is all spaces
)

// session is one run of a command, with an open link.
type session struct {
	*link.Link
	in          io.Reader
	out, stderr io.Writer
	space       string // empty: all
	json        bool
}

// build makes the cobra command.
func (v apiCommand) command(dial dialer) *cobra.Command {
	var space string
	var asJSON bool
	cmd := &cobra.Command{Use: v.use, Short: v.short, Long: v.long, Example: v.example, Args: v.args}
	if cmd.Args == nil {
		cmd.Args = cobra.NoArgs
	}
	if cmd.ValidArgsFunction = v.complete; v.complete == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if f := cmd.Flags().Lookup("space"); v.space != noSpaceFlag && f.Changed {
			if err := checkSpaceName("--space", space); err != nil {
				return err
			}
		}
		if v.before != nil {
			if err := v.before(args); err != nil {
				return err
			}
		}
		l, err := dial(cmd, v.need)
		if err != nil {
			return err
		}
		defer func() {
			if shut := l.Close(); err == nil {
				err = shut
			}
		}()
		return v.run(cmd.Context(), &session{l, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), space, asJSON}, args)
	}
	linkFlags(cmd, v.keys...)
	switch v.space {
	case oneSpaceFlag:
		cmd.Flags().StringVar(&space, "space", link.DefaultSpace, "Name of the space")
	case allSpacesFlag:
		cmd.Flags().StringVar(&space, "space", "", "Name of the space (default: all spaces)")
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print the JSON of the HTTP interface")
	if v.flags != nil {
		v.flags(cmd)
	}
	if v.space != noSpaceFlag {
		_ = cmd.RegisterFlagCompletionFunc("space", spacesOf(dial)) // the flag exists
	}
	return cmd
}

// spacesOf completes names of spaces.
func spacesOf(dial dialer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		cmd.SetErr(io.Discard)
		l, err := dial(cmd, need{})
		if err != nil {
			return nil, none
		}
		defer l.Close() //nolint:errcheck // completion shows no errors
		r, err := l.ListSpacesWithResponse(cmd.Context())
		if err != nil {
			return nil, none
		}
		var names []string
		for _, s := range r.JSON200.Spaces {
			names = append(names, s.Name)
		}
		return names, none
	}
}

// firstSpaceOf completes a space as the first argument, and no other argument.
func firstSpaceOf(dial dialer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return spacesOf(dial)(cmd, args, toComplete)
	}
}

// kindFlag gives a command the flag --kind.
func kindFlag(cmd *cobra.Command, kind *string, usual, about string) {
	cmd.Flags().StringVar(kind, "kind", usual, about+": emails, dialog, meetings or notes")
	all := cobra.FixedCompletions([]string{"emails", "dialog", "meetings", "notes"}, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("kind", all) // the flag exists
}

// group makes a command that only has subcommands.
func group(use, short, long string, under ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(under...)
	return cmd
}

// printBody prints a response: as JSON with --json, otherwise as a table.
func (c *session) printBody(body []byte, table func(p *cmdline.Printer)) error {
	if !c.json {
		p := &cmdline.Printer{W: c.out}
		table(p)
		return p.Err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(body), "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := c.out.Write(b.Bytes())
	return err
}

// printJSON prints a value that was made from several responses, like printBody.
func (c *session) printJSON(v any, table func(p *cmdline.Printer)) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.printBody(b, table)
}

// note prints a line to stderr.
func (c *session) note(format string, args ...any) {
	p := &cmdline.Printer{W: c.stderr}
	p.Line(format, args...)
}

// eachSpace calls fn with the named space, or with every space if none is named.
func (c *session) eachSpace(ctx context.Context, fn func(space string) error) error {
	if c.space != "" {
		return fn(c.space)
	}
	r, err := c.ListSpacesWithResponse(ctx)
	if err != nil {
		return err
	}
	for _, s := range r.JSON200.Spaces {
		if err := fn(s.Name); err != nil {
			return err
		}
	}
	return nil
}

// checkSpace returns an error if a space is named and does not exist.
func (c *session) checkSpace(ctx context.Context) error {
	if c.space == "" {
		return nil
	}
	_, err := c.GetSpaceWithResponse(ctx, c.space)
	return err
}

// deref is the value of an optional field, or its zero value.
func deref[T any](v *T) (t T) {
	if v != nil {
		t = *v
	}
	return t
}

// optional is nil for a zero value, so that the field is left out of a request.
func optional[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}

var errStreamCut = errors.New("the response ended early")
