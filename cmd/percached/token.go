package main

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/audit"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/token"
)

func tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Show, list, create, limit, rotate and revoke access tokens", Args: cobra.NoArgs, RunE: commands.Help,
		Long: `Tokens grant access to the daemon. A token has a role, and is valid for one space or for
all. Changes take effect in a running daemon at once.`,
	}
	cmd.AddCommand(tokenShow(), tokenPage(), tokenList(), tokenCreate(), tokenLimit(), tokenRotate(), tokenRevoke())
	return cmd
}

// tokenSubcommand is a command on the tokens of a data folder. A daemon may be running.
func tokenSubcommand(use, short string, args cobra.PositionalArgs, run func(dir string, args []string) (cmdline.Report, error)) *cobra.Command {
	c := node.Default()
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args, Example: "  percached token " + use,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !home.Exists(c.Data) {
				return fault.New(fault.NotFound, "percached: token", "there is no data folder %s; percached add and percached serve create it", c.Data)
			}
			r, err := run(c.Data, args)
			if _, changed := errors.AsType[*unrecorded](err); err != nil && !changed {
				return err
			}
			if secret, ok := r.(interface{ printNote(io.Writer) }); ok && !asJSON {
				secret.printNote(cmd.ErrOrStderr())
			}
			return cmp.Or(cmdline.Show(cmd.OutOrStdout(), asJSON, r), err)
		},
	}
	commands.DataFlag(cmd, &c.Config)
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON")
	return cmd
}

// withStore opens the token files of a data folder for fn.
func withStore(fn func(s *token.Store, args []string) (cmdline.Report, error)) func(dir string, args []string) (cmdline.Report, error) {
	return func(dir string, args []string) (cmdline.Report, error) {
		s, err := token.Open(dir)
		if err != nil {
			return nil, err
		}
		return fn(s, args)
	}
}

// tokenLine is a token without its secret.
type tokenLine struct {
	ID      string       `json:"id"`
	Name    string       `json:"name,omitempty"`
	Space   string       `json:"space,omitempty"` // empty: all
	Role    token.Role   `json:"role"`
	Made    time.Time    `json:"made"`
	Expires time.Time    `json:"expires,omitzero"`
	Limits  token.Limits `json:"limits,omitzero"`
}

func newTokenLine(t token.Token) tokenLine {
	return tokenLine{t.ID, t.Name, t.Space, t.Role, t.Made, t.Expires, t.Limits}
}

func (l *tokenLine) spaceText() string {
	if l.Space == "" {
		return "all spaces"
	}
	return l.Space
}

// secretReport prints a secret.
type secretReport struct {
	*tokenLine        // nil: the main token
	Secret     string `json:"secret"`
	replaced   bool   // this command replaced the main token
}

// Table prints the secret alone, so that a script can read it.
func (r *secretReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("%s", r.Secret)
	return p.Err
}

// printNote explains the secret on stderr.
func (r *secretReport) printNote(stderr io.Writer) {
	if r.replaced {
		cmdline.Say(stderr, "this is the new main token; the old one is revoked")
	}
	if r.tokenLine != nil {
		cmdline.Say(stderr, "token %s: role %s, %s; the secret is not shown again", r.ID, r.Role, r.spaceText())
	}
}

func tokenShow() *cobra.Command {
	return tokenSubcommand("show", "Print the main token, which has every right; create it if it is missing", cobra.NoArgs, withStore(func(s *token.Store, _ []string) (cmdline.Report, error) {
		secret, _, err := s.Main()
		return &secretReport{Secret: secret}, err
	}))
}

func tokenPage() *cobra.Command {
	return tokenSubcommand("page", "Print the address of the web page, with the main token", cobra.NoArgs, withStore(func(s *token.Store, _ []string) (cmdline.Report, error) {
		l, err := link.Running(s.Dir())
		if err != nil {
			return nil, err
		}
		if l == nil {
			return nil, fault.New(fault.NotFound, "percached: token", "no daemon is running on %s; start one with percached serve", s.Dir())
		}
		secret, _, err := s.Main()
		return &pageReport{Page: l.Daemon + "/#token=" + secret}, err
	}))
}

// pageReport is the address of the web page.
type pageReport struct {
	Page string `json:"page"`
}

func (r *pageReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("%s", r.Page)
	return p.Err
}

// tokensReport lists tokens.
type tokensReport struct {
	Tokens []tokenLine `json:"tokens"`
}

func (r *tokensReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	for _, l := range r.Tokens {
		p.Line("%-12s  %-5s  %-20s  %s  %s%s", l.ID, l.Role, l.spaceText(), timeText(l.Made), l.Name, l.boundText())
	}
	return p.Err
}

func tokenList() *cobra.Command {
	return tokenSubcommand("list", "List the tokens, without their secrets", cobra.NoArgs, withStore(func(s *token.Store, _ []string) (cmdline.Report, error) {
		r := &tokensReport{Tokens: []tokenLine{}}
		all, err := s.List()
		for _, t := range all {
			r.Tokens = append(r.Tokens, newTokenLine(t))
		}
		return r, err
	}))
}

func tokenCreate() *cobra.Command {
	var name, space, role string
	var set limitFlags
	cmd := tokenSubcommand("create", "Create a token for one space or for all, and print it", cobra.NoArgs, withStore(func(s *token.Store, _ []string) (cmdline.Report, error) {
		if !token.Role(role).IsValid() {
			return nil, cmdline.Misusef("--role must be ask, write or admin, not %q", role)
		}
		var limits token.Limits
		if err := set.apply(&limits); err != nil {
			return nil, err
		}
		var secret string
		var t token.Token
		err := audited(s.Dir(), "token.create", func() (r audit.Record, err error) {
			secret, t, err = s.CreateLimited(name, space, token.Role(role), limits)
			return tokenRecord(t), err
		})
		if fault.KindOf(err) == fault.Invalid {
			err = cmdline.Misusef("%s", cmdline.Sentence(err))
		}
		line := newTokenLine(t)
		return &secretReport{tokenLine: &line, Secret: secret}, err
	}))
	cmd.Long = `Creates a token and prints its secret, which is not shown again. Each role includes the
rights of the roles before it:

  ask     ask questions, read documents and stored answers
  write   add and delete documents, correct stored answers
  admin   change settings, limits, spaces and the configuration

A token for one space reveals nothing about other spaces, not even that they exist.`
	cmd.Example = `  percached token create --space mail --role write --name phone`
	cmd.Flags().StringVar(&name, "name", "", "Name of the token, for your own use")
	cmd.Flags().StringVar(&space, "space", "", "Name of the space that the token is valid for (default: all spaces)")
	cmd.Flags().StringVar(&role, "role", "ask", "Role of the token: ask, write or admin")
	set.flags(cmd)
	return cmd
}

func tokenRevoke() *cobra.Command {
	var yes bool
	var cmd *cobra.Command
	ask := func(format string, args ...any) error {
		return confirm(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr(), yes, format, args...)
	}
	cmd = tokenSubcommand("revoke ID", "Revoke a token; the ID main replaces the main token", cobra.ExactArgs(1), func(dir string, args []string) (cmdline.Report, error) {
		if args[0] == token.MainID { // also if its file cannot be used
			if err := ask("Replace the main token? Clients that use the old one lose access."); err != nil {
				return nil, err
			}
			var secret string
			err := audited(dir, "token.revoke", func() (r audit.Record, err error) {
				secret, err = token.Renew(dir)
				return tokenRecord(token.Token{ID: token.MainID, Name: token.MainID}), err
			})
			return &secretReport{Secret: secret, replaced: true}, err
		}
		s, err := token.Open(dir)
		if err != nil {
			return nil, err
		}
		all, err := s.List()
		if err != nil {
			return nil, err
		}
		var t token.Token
		if i := slices.IndexFunc(all, func(t token.Token) bool { return t.ID == args[0] }); i >= 0 {
			t = all[i]
			if err := ask("Revoke the token %s %s?", t.ID, t.Name); err != nil {
				return nil, err
			}
		}
		return &revokedReport{ID: args[0]}, audited(dir, "token.revoke", func() (audit.Record, error) {
			return tokenRecord(t), s.Revoke(args[0])
		})
	})
	yesFlag(cmd, &yes)
	return cmd
}

// revokedReport names the revoked token.
type revokedReport struct {
	ID string `json:"revoked"`
}

func (r *revokedReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("revoked token %s", r.ID)
	return p.Err
}
