package main

import (
	"cmp"
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/follow"
	"github.com/percached/percached/internal/follow/account"
)

// sourceReport is what percached sources sync --json prints of a source.
type sourceReport struct {
	Name  string `json:"name"`
	Space string `json:"space"`
	Error string `json:"error,omitempty"`
	*addReport
}

func sourcesSync(dial dialer) *cobra.Command {
	var empty bool
	return apiCommand{
		use: "sync [NAME]...", short: "Put spaces in step with mail accounts once",
		long: `Fetches new mails of the named sources, or of all, and deletes the documents of mails that
left all followed folders. What a run stored stays if it is interrupted; the next one
continues. The documents of a folder that cannot be opened or is empty stay.`,
		example: `  percached sources sync
  percached sources sync ana@example.org`,
		args: cobra.ArbitraryArgs, keys: documentKeys(), complete: sourcesOf(dial),
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&empty, "empty", false, "Delete the documents of a folder that is empty or missing, too")
		},
		run: func(ctx context.Context, c *session, names []string) error {
			chosen, all, err := c.chosenSources(names)
			if err != nil {
				return err
			}
			var reports []sourceReport
			var worst error
			for _, s := range chosen {
				report, err := c.syncAndPrint(ctx, s, all, empty, len(chosen) > 1)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				reports = append(reports, report)
				worst = cmp.Or(err, worst)
			}
			if c.json {
				err = c.printJSON(map[string]any{"sources": reports}, nil)
			}
			if len(chosen) > 1 && worst != nil {
				worst = cmdline.Unwell{} // the reasons are printed
			}
			return cmp.Or(worst, err)
		},
	}.command(dial)
}

// syncAndPrint puts the space in step with a source, and prints what was done unless all is
// printed as JSON. With others it also prints the name and the error.
func (c *session) syncAndPrint(ctx context.Context, s account.Source, all []account.Source, empty, others bool) (sourceReport, error) {
	c.space = s.Space
	if others {
		c.note("%s:", s.Name)
	}
	a, err := c.syncSource(ctx, s, all, empty)
	a.progress(1)
	report := sourceReport{Name: s.Name, Space: s.Space, addReport: &a.report}
	switch {
	case err != nil:
		report.Error = cmdline.Sentence(err)
		if others {
			c.note("%s", report.Error)
		}
	case !c.json:
		err = a.printReport()
	case a.report.Failed > 0:
		err = cmdline.Unwell{}
	}
	return report, err
}

// syncSource puts the space in step with a source once.
func (c *session) syncSource(ctx context.Context, s account.Source, all []account.Source, empty bool) (*addRun, error) {
	a := c.newAddRun()
	a.report.Deleted = new(int)
	store, err := c.sourceStore()
	if err != nil {
		return a, err
	}
	password, err := store.Password(s)
	if err != nil {
		return a, err
	}
	o, err := c.accountOptions(ctx, s, all)
	if err != nil {
		return a, err
	}
	o.Space, o.Full, o.Empty = &followed{add: a}, true, empty
	o.Observer = follow.Observer{
		Found:  func(bytes int64) { a.total, a.done = bytes, 0 },
		Passed: func(bytes int64) { a.done += bytes },
	}
	r, err := account.Sync(ctx, password, o)
	if late := o.State.Close(); err == nil {
		err = late
	}
	*a.report.Deleted = r.Deleted
	a.addFailures(stepFailures(r))
	a.report.Seconds = time.Since(a.began).Seconds()
	if err != nil && a.documents() > 0 {
		c.note("stored at least %d documents; run the same command again to continue", a.documents())
	}
	return a, err
}

// accountOptions opens the state of a source. The caller closes it.
func (c *session) accountOptions(ctx context.Context, s account.Source, all []account.Source) (o account.Options, err error) {
	if _, err := c.GetSpaceWithResponse(ctx, s.Space); isMissing(err) {
		return o, fault.New(fault.NotFound, "cli.sources", "the space %q of the source %s is gone; remove the source with percached sources remove %s, or create the space", s.Space, s.Name, s.Name)
	} else if err != nil {
		return o, mayPass(err)
	}
	files, err := c.syncFiles()
	if err != nil {
		return o, err
	}
	o = account.Options{Source: s, Sources: all, Now: time.Now}
	o.State, err = account.OpenState(files, s)
	return o, err
}

func sourcesWatch(dial dialer) *cobra.Command {
	cmd := &cobra.Command{
		Use: "watch [NAME]...", Short: "Keep spaces in step with mail accounts",
		Long: `Does what percached sources sync does, then follows the named sources, or all, until it
is interrupted. It prints a line for each change.

It needs a running daemon (percached serve), and waits for one that is restarted and for
a mail server that cannot be reached. Changes in the first 4 folders of a source show
within seconds if the server reports them (IDLE); otherwise, and in other folders, within
5 minutes. Each of the 4 folders uses a connection.`,
		Example: `  percached sources watch`, Args: cobra.ArbitraryArgs, ValidArgsFunction: sourcesOf(dial),
	}
	linkFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		open := func(context.Context) (*session, error) {
			l, err := dial(cmd, need{Daemon: true})
			if err != nil {
				return nil, err
			}
			return &session{l, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), "", false}, nil
		}
		return watchSources(cmd.Context(), open, names)
	}
	return cmd
}

// watchSources follows sources, each over a connection of its own.
func watchSources(ctx context.Context, open func(context.Context) (*session, error), names []string) error {
	c, err := open(ctx)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // it is only a connection
	chosen, all, err := c.chosenSources(names)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	var lines sync.Mutex
	failed := make(chan error, len(chosen))
	for _, s := range chosen {
		w := &sourceWatch{open: open, source: s, all: all, told: watching{told: map[string]string{}}}
		own := *c
		own.space, own.out, own.stderr = s.Space, &lockedLines{&lines, c.out}, &lockedLines{&lines, c.stderr}
		go func() { failed <- w.run(ctx, &own) }()
	}
	var first error
	for range chosen {
		if err := <-failed; err != nil && first == nil {
			first = err
			end()
		}
	}
	return first
}

// lockedLines writes lines of several goroutines.
type lockedLines struct {
	lock *sync.Mutex
	to   io.Writer
}

func (l *lockedLines) Write(p []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.to.Write(p)
}

// sourceWatch follows one source.
type sourceWatch struct {
	open   func(ctx context.Context) (*session, error)
	source account.Source
	all    []account.Source
	told   watching
}

func (w *sourceWatch) run(ctx context.Context, c *session) error {
	store, err := c.sourceStore()
	if err != nil {
		return err
	}
	o, err := c.accountOptions(ctx, w.source, w.all)
	if err != nil {
		return err
	}
	defer o.State.Close() //nolint:errcheck // each run writes it
	p := &cmdline.Printer{W: c.out}
	o.Full = true
	o.Observer = follow.Observer{Changed: func(done follow.Change) { p.Line("%-8s %s", done.What, done.Path) }}
	lost := false
	password := func() (string, error) { return store.Password(w.source) }
	return account.Watch(ctx, w.source, password, account.DefaultTimes(), func(ctx context.Context, a *account.Account) error {
		space := &followed{open: func(ctx context.Context) (*session, error) {
			fresh, err := w.open(ctx)
			if err == nil {
				fresh.space, fresh.out, fresh.stderr = c.space, c.out, c.stderr
			}
			return fresh, err
		}}
		o.Space = space
		r, err := account.Run(ctx, a, o)
		if space.add != nil {
			w.told.tell(c, space.add.report.Failures)
			space.add.Close() //nolint:errcheck // it is only a connection
		}
		w.told.tell(c, stepFailures(r))
		if err != nil {
			return err
		}
		if lost {
			c.note("%s: following again", w.source.Name)
			lost = false
		}
		if o.Full {
			c.note("following %s (%s) with %d mails; end with Ctrl-C", w.source.Name, strings.Join(w.source.Folders, ", "), r.Files)
		}
		o.Full = false
		return p.Err
	}, func(err error) {
		lost = true
		c.note("%s: waiting: %s", w.source.Name, cmdline.Sentence(err))
	})
}
