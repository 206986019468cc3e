package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/follow"
	"github.com/percached/percached/internal/follow/account"
)

func sourcesCommand(dial dialer) *cobra.Command {
	return group("sources", "Follow mail accounts (IMAP)",
		`Adds mail accounts to spaces and keeps the spaces in step with them: new mails are added,
and the documents of mails that left the account are deleted. percached changes nothing
in an account, and does not mark mails as read.`,
		sourcesAdd(dial), sourcesList(dial), sourcesRemove(dial), sourcesSync(dial), sourcesWatch(dial))
}

// sourceStore opens the sources.
func (c *session) sourceStore() (*account.Store, error) {
	files, err := c.syncFiles()
	if err != nil {
		return nil, err
	}
	return account.OpenStore(files), nil
}

// chosenSources returns the named sources, or all, and all.
func (c *session) chosenSources(names []string) (chosen, all []account.Source, err error) {
	s, err := c.sourceStore()
	if err == nil {
		all, err = s.List()
	}
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		one, err := s.Get(name)
		if err != nil {
			return nil, nil, err
		}
		chosen = append(chosen, one)
	}
	switch {
	case len(names) > 0:
		return chosen, all, nil
	case len(all) == 0:
		return nil, nil, fault.New(fault.NotFound, "cli.sources", "there is no source; percached sources add imap HOST --user NAME adds a mail account")
	}
	return all, all, nil
}

// sourcesOf completes names of sources.
func sourcesOf(dial dialer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		cmd.SetErr(io.Discard)
		l, err := dial(cmd, need{})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer l.Close()                               //nolint:errcheck // completion shows no errors
		if l.Daemon != "" && home.Encrypted(l.Data) { // it would ask for the passphrase
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		_, all, _ := (&session{Link: l}).chosenSources(nil)
		for _, s := range all {
			names = append(names, s.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func sourcesAdd(dial dialer) *cobra.Command {
	var s account.Source
	var startTLS, plain bool
	return apiCommand{
		use: "add imap HOST", short: "Follow folders of a mail account",
		long: `Follows folders of a mail account over IMAP. HOST may have a port. percached logs in to
check the account, and counts its mails; percached sources sync or percached sources
watch then fetches them.

percached asks for the password and keeps it in a file in the data folder that only you
can read. It is plain text, unless the folder is encrypted. With --password-file percached
reads it from your file each time it connects. If the server does not accept your password
from programs, create an app password for percached. Accounts that need a login in the
browser (OAuth) are not supported.

The connection is encrypted, and the certificate of the server must be valid. If your
server has its own certificate, set SSL_CERT_FILE to its file.

Adding a source again changes its folders and its password.`,
		example: `  percached sources add imap mail.example.org --user ana@example.org --space mail
  percached sources add imap mail.example.org --user ana --folder INBOX --folder Archive
  percached sources add imap localhost:1143 --user ana --password-file bridge.txt --plain`,
		args: cobra.ExactArgs(2), need: need{Folder: true}, space: oneSpaceFlag,
		complete: cobra.FixedCompletions([]string{"imap"}, cobra.ShellCompDirectiveNoFileComp),
		flags: func(cmd *cobra.Command) {
			f := cmd.Flags()
			f.StringVar(&s.User, "user", "", "User name of the account, often the mail address")
			f.StringVar(&s.PasswordFile, "password-file", "", "File with the password in its first line (default: ask for the password)")
			f.StringArrayVar(&s.Folders, "folder", []string{"INBOX"}, "Folder of the account; may be given several times")
			f.StringVar(&s.Name, "name", "", "Name of the source (default: the mail address)")
			f.BoolVar(&startTLS, "starttls", false, "Encrypt with STARTTLS, on port 143 unless HOST has another; otherwise TLS on port 993")
			f.BoolVar(&plain, "plain", false, "Do not encrypt; only for a server on this machine")
		},
		before: func(args []string) error {
			if args[0] != "imap" {
				return cmdline.Misusef("%q is not a kind of source; the only one is imap", args[0])
			}
			if startTLS && plain {
				return cmdline.Misusef("--starttls and --plain exclude each other; leave out one of them")
			}
			s.Address, s.Security = args[1], account.TLS
			switch {
			case startTLS:
				s.Security = account.StartTLS
			case plain:
				s.Security = account.Plain
			}
			if err := s.Validate(); err != nil {
				return cmdline.Misused(err)
			}
			return nil
		},
		run: func(ctx context.Context, c *session, _ []string) (err error) {
			s.Space = c.space
			return c.addSource(ctx, s)
		},
	}.command(dial)
}

// addSource checks the account and stores the source.
func (c *session) addSource(ctx context.Context, s account.Source) (err error) {
	store, err := c.sourceStore()
	if err != nil {
		return err
	}
	var password string
	if s.PasswordFile == "" {
		password, err = askPassword(ctx, c.in, c.stderr, s.User, s.Address)
	} else if s.PasswordFile, err = filepath.Abs(s.PasswordFile); err == nil {
		password, err = account.ReadPassword(s.PasswordFile)
	}
	if err != nil {
		return err
	}
	a, err := account.Dial(ctx, s, password)
	if err != nil {
		return err
	}
	defer a.Close()
	counts := map[string]int{}
	var said []string
	for _, folder := range s.Folders {
		if counts[folder], err = a.Count(folder); err != nil {
			return err
		}
		said = append(said, folder+" has "+countOf(counts[folder], "mail"))
	}
	if err := c.makeSpace(ctx, ""); err != nil {
		return err
	}
	if err := store.Put(s, password); err != nil {
		return err
	}
	return c.printJSON(struct {
		account.Source
		Mails map[string]int `json:"mails"`
	}{s, counts}, func(p *cmdline.Printer) {
		p.Line("added the source %s for the space %s: %s", s.Name, s.Space, strings.Join(said, ", "))
		p.Line("fetch the mails with percached sources sync, or follow the account with percached sources watch")
	})
}

func sourcesList(dial dialer) *cobra.Command {
	return apiCommand{
		use: "list", short: "List the mail accounts that spaces follow",
		example: `  percached sources list`,
		run: func(_ context.Context, c *session, _ []string) error {
			store, err := c.sourceStore()
			if err != nil {
				return err
			}
			all, err := store.List()
			if err != nil {
				return err
			}
			if all == nil {
				all = []account.Source{}
			}
			return c.printJSON(map[string]any{"sources": all}, func(p *cmdline.Printer) {
				for _, s := range all {
					p.Line("%s: %s at %s, %s → space %s", s.Name, s.User, s.Address, strings.Join(s.Folders, ", "), s.Space)
				}
				if len(all) == 0 {
					p.Line("no sources; percached sources add imap HOST --user NAME adds a mail account")
				}
			})
		},
	}.command(dial)
}

func sourcesRemove(dial dialer) *cobra.Command {
	var yes, documents bool
	return apiCommand{
		use: "remove NAME", short: "Stop following a mail account",
		long: `Forgets a mail account and its password. The documents of its mails stay, unless you add
--documents. Nothing changes in the account.`,
		example: `  percached sources remove ana@example.org
  percached sources remove ana@example.org --documents`,
		args: cobra.ExactArgs(1), complete: sourcesOf(dial),
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&documents, "documents", false, "Also delete the documents of its mails")
			yesFlag(cmd, &yes)
		},
		run: func(ctx context.Context, c *session, args []string) error {
			return c.removeSource(ctx, args[0], documents, yes)
		},
	}.command(dial)
}

func (c *session) removeSource(ctx context.Context, name string, documents, yes bool) error {
	files, err := c.syncFiles()
	if err != nil {
		return err
	}
	chosen, all, err := c.chosenSources([]string{name})
	if err != nil {
		return err
	}
	s := chosen[0]
	c.space = s.Space
	state, err := account.OpenState(files, s) // nobody follows it meanwhile
	if err != nil {
		return err
	}
	defer state.Close() //nolint:errcheck // it is removed
	space := &followed{add: c.newAddRun()}
	var ids []string
	if documents {
		o := account.Options{Source: s, Sources: all, State: state, Space: space}
		err := account.Documents(ctx, o, func(d follow.Document) { ids = append(ids, d.ID) })
		if err != nil && !isMissing(err) {
			return err
		}
	}
	what := "Its documents stay; --documents deletes them."
	if documents {
		what = "This also deletes " + countOf(len(ids), "document") + " and everything made from them."
	}
	if err := c.confirm(ctx, yes, "Stop following %s? %s", s.Name, what); err != nil {
		return err
	}
	if len(ids) > 0 {
		if err := space.Delete(ctx, ids); err != nil {
			return err
		}
	}
	if err := account.OpenStore(files).Remove(s); err != nil {
		return err
	}
	return c.printJSON(map[string]any{"removed": s.Name, "deleted": len(ids)}, func(p *cmdline.Printer) {
		p.Line("removed the source %s; documents deleted: %d", s.Name, len(ids))
	})
}
