package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/percached/percached/internal/link"

	"github.com/percached/percached/internal/base/cmdline"

	"github.com/spf13/cobra"
)

// linkCommands are the commands that send requests to percached.
func linkCommands(dial dialer) []*cobra.Command {
	return []*cobra.Command{
		askCommand(dial), addCommand(dial), documentsCommand(dial), spacesCommand(dial), cacheCommand(dial), qaCommand(dial), historyCommand(dial),
		predictCommand(dial), idleCommand(dial), statusCommand(dial), calibrateCommand(dial), backupCommand(dial),
	}
}

// verb is a command: what it is called with, and what it does.
type verb struct {
	use, short, long, example string
	args                      cobra.PositionalArgs
	keys                      []string // of the configuration, that flags of it set
	need                      need
	space                     scope
	flags                     func(cmd *cobra.Command)
	complete                  cobra.CompletionFunc      // of its arguments; nil: there are none to choose from
	before                    func(args []string) error // says what is wrong, before a percached is opened
	run                       func(ctx context.Context, c *invocation, args []string) error
}

// scope says which spaces a command is about.
type scope uint8

const (
	noSpace  scope = iota // its arguments say it, or it is about none
	oneSpace              // that which --space names, or the default one
	anySpace              // that which --space names, or all
)

// call is one run of a command.
type invocation struct {
	*link.Link
	in          io.Reader
	out, stderr io.Writer
	space       string // empty: all
	json        bool
}

// command makes the command of a verb.
func (v verb) command(dial dialer) *cobra.Command {
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
		if f := cmd.Flags().Lookup("space"); v.space != noSpace && f.Changed {
			if err := isSpace("--space", space); err != nil {
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
		return v.run(cmd.Context(), &invocation{l, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), space, asJSON}, args)
	}
	linkFlags(cmd, v.keys...)
	switch v.space {
	case oneSpace:
		cmd.Flags().StringVar(&space, "space", link.DefaultSpace, "space that is meant")
	case anySpace:
		cmd.Flags().StringVar(&space, "space", "", "space that is meant (default: all)")
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, as the HTTP interface gives it")
	if v.flags != nil {
		v.flags(cmd)
	}
	if v.space != noSpace {
		_ = cmd.RegisterFlagCompletionFunc("space", spacesOf(dial)) // the flag is there
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
		defer l.Close() //nolint:errcheck // nobody is there to be told
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

// firstSpaceOf completes a first argument that is a space, and none behind it.
func firstSpaceOf(dial dialer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return spacesOf(dial)(cmd, args, toComplete)
	}
}

// kindFlag gives a command the flag of what a space holds.
func kindFlag(cmd *cobra.Command, kind *string, usual, about string) {
	cmd.Flags().StringVar(kind, "kind", usual, about+": emails, dialog, meetings, notes")
	all := cobra.FixedCompletions([]string{"emails", "dialog", "meetings", "notes"}, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("kind", all) // the flag is there
}

// group is a command that has only others under it.
func group(use, short, long string, under ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(under...)
	return cmd
}

// show prints what came back: as it is for programs, else as a table.
func (c *invocation) show(body []byte, table func(p *cmdline.Printer)) error {
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

// showAll prints what was put together of several answers.
func (c *invocation) showAll(v any, table func(p *cmdline.Printer)) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.show(b, table)
}

// say tells a person something beside the result.
func (c *invocation) say(format string, args ...any) {
	p := &cmdline.Printer{W: c.stderr}
	p.Line(format, args...)
}

// agrees asks a person whether to go on. Who is no person at a terminal has said so
// by calling.
func (c *invocation) agrees(format string, args ...any) bool {
	if !cmdline.Terminal(c.in) || !cmdline.Terminal(c.stderr) {
		return true
	}
	fmt.Fprintf(c.stderr, format+" [y/N] ", args...)
	said, _ := bufio.NewReader(c.in).ReadString('\n') // nothing is no
	said = strings.ToLower(strings.TrimSpace(said))
	return said == "y" || said == "yes"
}

// each calls fn with the space that is meant, or with all of them.
func (c *invocation) each(ctx context.Context, fn func(space string) error) error {
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

// there checks that the space that is meant, if one is, is there.
func (c *invocation) there(ctx context.Context) error {
	if c.space == "" {
		return nil
	}
	_, err := c.GetSpaceWithResponse(ctx, c.space)
	return err
}

// deref is what a field holds that may be absent.
func deref[T any](v *T) (t T) {
	if v != nil {
		t = *v
	}
	return t
}

// optional is a field that is absent where it says nothing.
func optional[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}

var errNoEnd = errors.New("the stream ended before its end")
