package main

import (
	"io"
	"time"

	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/node"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/token"
)

func tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "Who may call the daemon: show, list, create and revoke tokens", Args: cobra.NoArgs, RunE: commands.Help,
		Long: `Tokens say who may call the daemon, in which space and what for. A running daemon
sees at once what these commands do.`,
	}
	cmd.AddCommand(tokenShow(), tokenPage(), tokenList(), tokenCreate(), tokenRevoke())
	return cmd
}

// tokenVerb is a command on the tokens of a data folder, which may be in use.
func tokenVerb(use, short string, args cobra.PositionalArgs, run func(dir string, args []string) (cmdline.Report, error)) *cobra.Command {
	c := node.Default()
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args, Example: "  percached token " + use,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !home.Exists(c.Data) {
				return fault.New(fault.NotFound, "percached: token", "there is no data folder %s yet: percached serve and percached add make it", c.Data)
			}
			r, err := run(c.Data, args)
			if err != nil {
				return err
			}
			if secret, ok := r.(*secretReport); ok && !asJSON {
				secret.remark(cmd.ErrOrStderr())
			}
			return cmdline.Show(cmd.OutOrStdout(), asJSON, r)
		},
	}
	commands.DataFlag(cmd, &c.Config)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// ofStore runs fn on the tokens of a data folder, if its files can be used.
func ofStore(fn func(s *token.Store, args []string) (cmdline.Report, error)) func(dir string, args []string) (cmdline.Report, error) {
	return func(dir string, args []string) (cmdline.Report, error) {
		s, err := token.Open(dir)
		if err != nil {
			return nil, err
		}
		return fn(s, args)
	}
}

// tokenLine is a token as it is told of.
type tokenLine struct {
	ID    string     `json:"id"`
	Name  string     `json:"name,omitempty"`
	Space string     `json:"space,omitempty"` // empty: all
	Role  token.Role `json:"role"`
	Made  time.Time  `json:"made"`
}

func lineOfToken(t token.Token) tokenLine { return tokenLine{t.ID, t.Name, t.Space, t.Role, t.Made} }

func (l *tokenLine) where() string {
	if l.Space == "" {
		return "all spaces"
	}
	return l.Space
}

// secretReport tells a secret.
type secretReport struct {
	*tokenLine        // nil: the main token
	Secret     string `json:"secret"`
	replaced   bool   // by this command
}

// table is the secret alone, for who puts it into a variable.
func (r *secretReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("%s", r.Secret)
	return p.Err
}

// remark says what a person should know of the secret.
func (r *secretReport) remark(stderr io.Writer) {
	if r.replaced {
		cmdline.Say(stderr, "this is the main token now; the one before holds no more")
	}
	if r.tokenLine != nil {
		cmdline.Say(stderr, "token %s: %s in %s; it is not shown again", r.ID, r.Role, r.where())
	}
}

func tokenShow() *cobra.Command {
	return tokenVerb("show", "Print the main token, which may do everything; it is made if there is none", cobra.NoArgs, ofStore(func(s *token.Store, _ []string) (cmdline.Report, error) {
		secret, _, err := s.Main()
		return &secretReport{Secret: secret}, err
	}))
}

func tokenPage() *cobra.Command {
	return tokenVerb("page", "Print the address of the running daemon's page, with the main token that opens it", cobra.NoArgs, ofStore(func(s *token.Store, _ []string) (cmdline.Report, error) {
		l, err := link.Running(s.Dir())
		if err != nil {
			return nil, err
		}
		if l == nil {
			return nil, fault.New(fault.NotFound, "percached: token", "no daemon serves %s: percached serve does", s.Dir())
		}
		secret, _, err := s.Main()
		return &pageReport{Page: l.Daemon + "/#token=" + secret}, err
	}))
}

// pageReport is where the page is.
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
		p.Line("%-12s  %-5s  %-20s  %s  %s", l.ID, l.Role, l.where(), l.Made.UTC().Format(TimeLayout), l.Name)
	}
	return p.Err
}

func tokenList() *cobra.Command {
	return tokenVerb("list", "List the tokens, without their secrets", cobra.NoArgs, ofStore(func(s *token.Store, _ []string) (cmdline.Report, error) {
		r := &tokensReport{Tokens: []tokenLine{}}
		all, err := s.List()
		for _, t := range all {
			r.Tokens = append(r.Tokens, lineOfToken(t))
		}
		return r, err
	}))
}

func tokenCreate() *cobra.Command {
	var name, space, role string
	cmd := tokenVerb("create", "Make a token for one space or for all, and print it once", cobra.NoArgs, ofStore(func(s *token.Store, _ []string) (cmdline.Report, error) {
		if !token.Role(role).Known() {
			return nil, cmdline.Misusef("--role: %q is none of ask, write and admin", role)
		}
		secret, t, err := s.Create(name, space, token.Role(role))
		if fault.KindOf(err) == fault.Invalid {
			err = cmdline.Misusef("%s", cmdline.Sentence(err))
		}
		line := lineOfToken(t)
		return &secretReport{tokenLine: &line, Secret: secret}, err
	}))
	cmd.Long = `Makes a token and prints it, once. Roles, each of which may do what those before may:

  ask     ask questions, and read what answers rest on
  write   add and forget documents, correct stored answers
  admin   settings, limits, whole spaces, configuration

A token for one space learns nothing of another, not even whether it is there.`
	cmd.Example = `  percached token create --space mail --role write --name phone`
	cmd.Flags().StringVar(&name, "name", "", "what you call it")
	cmd.Flags().StringVar(&space, "space", "", "the space in which it holds (default: all)")
	cmd.Flags().StringVar(&role, "role", "ask", "ask, write or admin")
	return cmd
}

func tokenRevoke() *cobra.Command {
	return tokenVerb("revoke ID", "End a token; main gets a new one in its place", cobra.ExactArgs(1), func(dir string, args []string) (cmdline.Report, error) {
		if args[0] == token.MainID { // even where its file cannot be used
			secret, err := token.Renew(dir)
			return &secretReport{Secret: secret, replaced: true}, err
		}
		s, err := token.Open(dir)
		if err != nil {
			return nil, err
		}
		return &revoked{ID: args[0]}, s.Revoke(args[0])
	})
}

// revoked tells that a token is no more.
type revoked struct {
	ID string `json:"revoked"`
}

func (r *revoked) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("token %s holds no more", r.ID)
	return p.Err
}
