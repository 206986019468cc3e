package main

import (
	"bufio"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/link"
)

func spacesFollow(dial dialer) *cobra.Command {
	var from link.Target
	var tokenFile string
	var every time.Duration
	var once bool
	var command *cobra.Command
	return apiCommand{
		use: "follow SPACE", short: "Keep a copy of a space of another node", args: cobra.ExactArgs(1), need: need{Folder: true}, complete: firstSpaceOf(dial),
		long: `Keeps a copy of the space SPACE of the daemon at --from, so that people can ask this node.
The first round creates the copy. Each round compares the documents of both nodes; if they
differ, it makes those here the same. A document that was deleted there is deleted here
with everything made from it. Nothing is sent if nothing changed.

The copy refuses all other changes (status 503, read_only). Stored answers, conversations,
history and facts are not copied. If the other daemon does not respond, the copy stays as
it is. To make it an ordinary space, end this command, then use
percached spaces set SPACE copy_of=

It runs until it is interrupted, and then needs a running daemon here; with --once it does
one round, for cron or a systemd timer.`,
		example: `  percached spaces follow handbook --from https://node1.example.org:7337 --from-token-file node1.token
  percached spaces follow handbook --from https://node1.example.org:7337 --from-token-file node1.token --once`,
		flags: func(cmd *cobra.Command) {
			command = cmd
			f := cmd.Flags()
			f.StringVar(&from.URL, "from", "", "Address of the other daemon (required)")
			f.StringVar(&tokenFile, "from-token-file", "", "File with a token of the other daemon with the role admin for the space (required)")
			f.BoolVar(&from.PlainHTTP, "from-insecure-http", false, "Allow --from with http to another machine, without encryption")
			f.DurationVar(&every, "every", time.Minute, "Time between two rounds")
			f.BoolVar(&once, "once", false, "Do one round")
		},
		before: func(args []string) error {
			switch {
			case from.URL == "" || tokenFile == "":
				return cmdline.Misusef("--from and --from-token-file are required: the address of the other daemon, and a token of it with the role admin for the space")
			case every < time.Second:
				return cmdline.Misusef("--every is less than a second")
			case once && command.Flags().Changed("every"):
				return cmdline.Misusef("--once and --every exclude each other")
			}
			return checkSpaceName("SPACE", args[0])
		},
		run: func(ctx context.Context, c *session, args []string) (err error) {
			if from.Secret, err = readToken(tokenFile); err != nil {
				return err
			}
			from.URL = strings.TrimRight(from.URL, "/")
			writer, err := link.Remote(from)
			if err != nil { // it names the flags of the daemon that commands use
				return cmdline.Misusef("%s", strings.NewReplacer("--url", "--from", "--insecure-http", "--from-insecure-http", "--token-file", "--from-token-file").Replace(err.Error()))
			}
			defer writer.Close() //nolint:errcheck // the requests have ended
			f := &spaceFollower{writer: writer, address: from.URL, space: args[0]}
			if once {
				return f.printRound(ctx, c)
			}
			if c.Daemon == "" {
				return fault.New(fault.Unavailable, "cli.follow", "no daemon runs here; start one with percached serve, or use --once")
			}
			return f.run(ctx, c, every, func() (*link.Link, error) { return dial(command, need{Daemon: true}) })
		},
	}.command(dial)
}

// spaceFollower keeps a copy of a space.
type spaceFollower struct {
	writer  *link.Link
	address string // of the writer
	space   string
}

// copyReport is what a round did.
type copyReport struct {
	Space     string `json:"space"`
	From      string `json:"from"`
	Changed   bool   `json:"changed"`
	Documents int    `json:"documents"`
}

// run does rounds until ctx ends. Each opens a link to the daemon here, which may have been
// restarted.
func (f *spaceFollower) run(ctx context.Context, c *session, every time.Duration, open func() (*link.Link, error)) error {
	again := time.NewTicker(every)
	defer again.Stop()
	for failed := ""; ; {
		l, err := open()
		if err == nil {
			now := *c
			now.Link = l
			err = errors.Join(f.printRound(ctx, &now), l.Close())
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && failed != "":
			c.note("the copy is updated again")
			failed = ""
		case err != nil && cmdline.Sentence(err) != failed: // once, not every round
			failed = cmdline.Sentence(err)
			c.note("the copy stays as it is: %s", failed)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// printRound does a round and prints what it changed.
func (f *spaceFollower) printRound(ctx context.Context, c *session) error {
	done := cmdline.Waiting(c.stderr, "comparing the documents")
	out, err := f.round(ctx, c.Link)
	done()
	if err != nil || !out.Changed && !c.json {
		return err
	}
	return c.printJSON(out, func(p *cmdline.Printer) {
		p.Line("Updated %s from %s: %d documents.", out.Space, out.From, out.Documents)
	})
}

// round makes the documents of the copy those of the writer, if they differ.
func (f *spaceFollower) round(ctx context.Context, to *link.Link) (copyReport, error) {
	out := copyReport{Space: f.space, From: f.address}
	if err := f.makeCopy(ctx, to); err != nil {
		return out, err
	}
	have, err := to.ExportSpace(ctx, f.space, &client.ExportSpaceParams{Documents: new(true), Unless: new("*")})
	if err != nil {
		return out, err
	}
	have.Body.Close() //nolint:errcheck // it is empty
	tag := strings.Trim(have.Header.Get("ETag"), `"`)
	body, err := f.writer.ExportSpace(ctx, f.space, &client.ExportSpaceParams{Documents: new(true), Unless: optional(tag)})
	if err != nil {
		return out, err
	}
	defer body.Body.Close() //nolint:errcheck // it was read
	if out.Changed = body.StatusCode != 204; !out.Changed {
		sp, err := to.GetSpaceWithResponse(ctx, f.space)
		if err == nil {
			out.Documents = sp.JSON200.Documents
		}
		return out, err
	}
	archive, kind := bufio.NewReader(body.Body), "application/gzip"
	if backup.IsSealed(archive) {
		kind = "application/octet-stream"
	}
	got, err := to.ImportSpaceWithBodyWithResponse(ctx, f.space, &client.ImportSpaceParams{Update: new(true)}, kind, readUntilDone(ctx, archive))
	if err == nil {
		out.Documents = got.JSON201.Documents
	}
	return out, err
}

// makeCopy creates the copy if there is none. The space must exist at the writer.
func (f *spaceFollower) makeCopy(ctx context.Context, to *link.Link) error {
	const op = "cli.follow"
	origin, err := f.writer.GetSpaceWithResponse(ctx, f.space)
	if isMissing(err) {
		return fault.New(fault.NotFound, op, "there is no space %q at %s; if it was deleted there, delete the copy: percached spaces delete %s", f.space, f.address, f.space)
	}
	if err != nil {
		return err
	}
	own, err := to.GetSpaceWithResponse(ctx, f.space)
	if isMissing(err) {
		_, err = to.CreateSpaceWithResponse(ctx, client.NewSpace{
			Name: f.space, Kind: &origin.JSON200.Kind, Settings: &client.SettingsChange{CopyOf: &f.address},
		})
		return err
	}
	if err != nil {
		return err
	}
	switch of := deref(own.JSON200.Settings.CopyOf); of {
	case f.address:
		return nil
	case "":
		return fault.New(fault.Conflict, op, "the space %q exists here and is not a copy; delete it first, or replace its documents with those of the other node: percached spaces set %s copy_of=%s", f.space, f.space, f.address)
	default:
		return fault.New(fault.Conflict, op, "the space %q is a copy of %s; to follow another node use percached spaces set %s copy_of=%s", f.space, of, f.space, f.address)
	}
}
