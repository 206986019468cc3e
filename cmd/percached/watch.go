package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/follow"
	"github.com/percached/percached/internal/link"
)

func watchCommand(dial dialer) *cobra.Command {
	var kind, space string
	cmd := &cobra.Command{
		Use: "watch PATH...", Short: "Keep a space in step with folders and mailboxes",
		Long: `Does what percached add --sync does, then follows the files and folders until it is
interrupted: it adds new and changed files, and deletes the documents of files and
mails that vanished. It prints a line for each change.

It needs a running daemon (percached serve), and waits for one that is restarted. On
Linux it sleeps until something changes; elsewhere it compares the folders every 15
seconds.`,
		Example: `  percached watch ~/Maildir ~/notes --space mail`,
		Args:    cobra.MinimumNArgs(1), ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	linkFlags(cmd)
	cmd.Flags().StringVar(&space, "space", link.DefaultSpace, "Name of the space")
	_ = cmd.RegisterFlagCompletionFunc("space", spacesOf(dial)) // the flag exists
	kindFlag(cmd, &kind, "", "Kind of documents in a new space (default: emails)")
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		if slices.Contains(paths, "") {
			return cmdline.Misusef("PATH is empty")
		}
		if err := checkSpaceName("--space", space); err != nil {
			return err
		}
		w := &watching{open: func(context.Context) (*session, error) {
			l, err := dial(cmd, need{Daemon: true})
			if err != nil {
				return nil, err
			}
			return &session{l, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), space, false}, nil
		}, told: map[string]string{}}
		return w.run(cmd.Context(), paths, client.SpaceKind(kind))
	}
	return cmd
}

// watching is one run of percached watch.
type watching struct {
	open func(ctx context.Context) (*session, error)
	told map[string]string // obstacles that were printed, by their path
}

func (w *watching) run(ctx context.Context, paths []string, kind client.SpaceKind) error {
	c, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()                          //nolint:errcheck // it is only a connection
	if _, err := c.syncFiles(); err != nil { // before anything is changed
		return err
	}
	if err := c.makeSpace(ctx, kind); err != nil {
		return err
	}
	watcher, err := follow.NewWatcher()
	if err != nil {
		return err
	}
	defer watcher.Close() //nolint:errcheck // nothing was written
	o, err := c.stepOptions(paths)
	if err != nil {
		return err
	}
	defer o.State.Close() //nolint:errcheck // each run writes it
	o.Full = true
	p := &cmdline.Printer{W: c.out}
	o.Observer = follow.Observer{Folder: watcher.Folder, Changed: func(done follow.Change) {
		switch {
		case done.Deleted > 0:
			p.Line("%-8s %s (documents deleted: %d)", done.What, done.Path, done.Deleted)
		default:
			p.Line("%-8s %s", done.What, done.Path)
		}
	}}
	lost := false // the daemon
	return follow.Watch(ctx, watcher, follow.DefaultTimes(), func(ctx context.Context) error {
		space := &followed{open: w.open}
		o.Space = space
		r, err := follow.Run(ctx, o)
		if space.add != nil {
			w.tell(c, space.add.report.Failures)
			space.add.Close() //nolint:errcheck // it is only a connection
		}
		w.tell(c, stepFailures(r))
		if err != nil {
			return err
		}
		if lost {
			c.note("the daemon is back")
			lost = false
		}
		if o.Full {
			c.note("following %d files in %s; end with Ctrl-C", r.Files, strings.Join(o.Roots, ", "))
			if watcher.Blind() {
				c.note("some folders cannot be watched and are compared every %v; on Linux raise fs.inotify.max_user_watches", follow.DefaultTimes().Poll)
			}
		}
		o.Full = false
		return p.Err
	}, func(err error) {
		lost = true
		c.note("waiting for the daemon: %s", cmdline.Sentence(err))
	})
}

// tell prints each failure once, until it changes.
func (w *watching) tell(c *session, failures []client.Failure) {
	for _, f := range failures {
		if w.told[f.Name] != f.Reason {
			w.told[f.Name] = f.Reason
			c.note("not read: %s: %s", f.Name, f.Reason)
		}
	}
}
