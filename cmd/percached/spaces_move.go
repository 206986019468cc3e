package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/move"
)

func spacesExport(dial dialer) *cobra.Command {
	var force bool
	var out func() io.Writer
	return apiCommand{
		use: "export SPACE FILE", short: "Write one space to a file", args: cobra.ExactArgs(2), complete: spaceAndFile(spacesOf(dial)),
		long: `Writes one space to FILE, so that percached spaces import can add it to another data
folder: documents, stored answers, facts, conversations, history, predictions,
settings and prompts. "-" is standard output. It has no tensors and no tokens. The
export of an encrypted data folder is encrypted as a backup is; otherwise FILE contains
your documents in plain text.`,
		example: `  percached spaces export mail mail.tar.gz
  percached spaces export mail - | ssh nas 'percached spaces import mail -'`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&force, "force", false, "Overwrite FILE if it exists")
			out = cmd.OutOrStdout
		},
		before: func(args []string) error {
			if args[1] == "-" && cmdline.Terminal(out()) {
				return cmdline.Misusef("an export is not text and would garble the terminal; name a file")
			}
			if err := checkSpaceName("SPACE", args[0]); err != nil {
				return err
			}
			return checkTarget(args[1], force)
		},
		run: func(ctx context.Context, c *session, args []string) error {
			from := exportOf(c.Link, args[0])
			if args[1] == "-" {
				_, _, err := c.copyArchive(ctx, from, c.out)
				return err
			}
			header, n, err := c.archiveTo(ctx, from, args[1], force)
			if err != nil {
				return err
			}
			return c.printJSON(backupReport{args[1], n, header}, func(p *cmdline.Printer) {
				p.Line("Wrote %s: the space %s with %d documents, %s.", args[1], header.Space, header.Documents, cmdline.Size(n))
			})
		},
	}.command(dial)
}

// spaceAndFile completes a space as the first argument, and a file as the second.
func spaceAndFile(space cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return space(cmd, args, toComplete)
		case 1:
			return nil, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// exportOf requests the export of a space.
func exportOf(l *link.Link, space string) archiveSource {
	return archiveSource{"exporting the space", func(ctx context.Context) (io.ReadCloser, error) { return move.Export(ctx, l, space) }}
}

func spacesImport(dial dialer) *cobra.Command {
	return apiCommand{
		use: "import SPACE FILE", short: "Add a space from a file of percached spaces export", args: cobra.ExactArgs(2), need: need{Folder: true}, complete: spaceAndFile(cobra.NoFileCompletions),
		long: `Adds the space in FILE ("-" for standard input) that percached spaces export wrote. A
space keeps its name. If a space of this name exists, it must be empty. The space
appears when FILE is read and verified to its end; after an error nothing of it exists.
percached computes tensors again when idle.`,
		example: `  percached spaces import mail mail.tar.gz`,
		before:  func(args []string) error { return checkSpaceName("SPACE", args[0]) },
		run: func(ctx context.Context, c *session, args []string) error {
			from, err := openBackup(args[1], c.in)
			if err != nil {
				return err
			}
			defer from.Close() //nolint:errcheck // nothing was written
			done := cmdline.Waiting(c.stderr, "importing the space")
			sp, err := move.Import(ctx, c.Link, args[0], readUntilDone(ctx, from))
			done()
			if commands.Misused(err) { // a damaged file is not wrong usage
				err = fault.New(fault.Invalid, "percached: import", "%s", cmdline.Sentence(err))
			}
			if err != nil {
				return err
			}
			return c.printJSON(sp, func(p *cmdline.Printer) {
				p.Line("Imported %s: %d documents, %d chunks.", sp.Name, sp.Documents, sp.Chunks)
			})
		},
	}.command(dial)
}

func spacesMove(dial dialer) *cobra.Command {
	var to link.Target
	var tokenFile, public string
	return apiCommand{
		use: "move SPACE", short: "Move a space to another node", args: cobra.ExactArgs(1), complete: firstSpaceOf(dial),
		long: `Moves a space to the daemon at --to, while both daemons run:

  1. The space becomes read-only: changes get status 503 and Retry-After.
  2. Waiting uploads end, then the space is copied.
  3. Documents, chunks and stored answers of both are counted and compared.
  4. This daemon redirects all requests for the space to the other one (status 307).

If a step fails, the other daemon keeps nothing and the space accepts changes again,
or the error says what is left.
The copy here stays. When no client uses this address any more, delete it with
percached spaces delete. To undo a move, reset the setting:
percached spaces set SPACE moved_to=`,
		example: `  percached spaces move mail --to https://node2.example.org:7337 --to-token-file node2.token`,
		flags: func(cmd *cobra.Command) {
			f := cmd.Flags()
			f.StringVar(&to.URL, "to", "", "Address of the other daemon (required)")
			f.StringVar(&tokenFile, "to-token-file", "", "File with an admin token of the other daemon (required)")
			f.StringVar(&public, "redirect", "", "Address to which clients are redirected (default: --to)")
			f.BoolVar(&to.PlainHTTP, "to-insecure-http", false, "Allow --to with http to another machine, without encryption")
		},
		before: func(args []string) error {
			if err := checkSpaceName("SPACE", args[0]); err != nil {
				return err
			}
			if to.URL == "" || tokenFile == "" {
				return cmdline.Misusef("--to and --to-token-file are required: the address of the other daemon, and a token of it with the role admin for all spaces")
			}
			return nil
		},
		run: func(ctx context.Context, c *session, args []string) (err error) {
			if to.Secret, err = readToken(tokenFile); err != nil {
				return err
			}
			target, err := link.Remote(to)
			if err != nil { // it names the flags of the daemon that commands use
				return cmdline.Misusef("%s", strings.NewReplacer("--url", "--to", "--insecure-http", "--to-insecure-http").Replace(err.Error()))
			}
			defer target.Close() //nolint:errcheck // the requests have ended
			if err := target.Ready(ctx, c.stderr); err != nil {
				return err
			}
			if public == "" {
				public = target.Daemon
			}
			m := move.Move{From: c.Link, To: target, Space: args[0], Redirect: public, Stderr: c.stderr}
			moved, err := m.Run(ctx)
			if err != nil {
				return err
			}
			return c.printJSON(moved, func(p *cmdline.Printer) {
				p.Line("Moved %s to %s: %d documents, %d stored answers.", moved.Space, moved.To, moved.Documents, moved.Answers)
			})
		},
	}.command(dial)
}
