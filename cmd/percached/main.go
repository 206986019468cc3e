package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/percached/percached/internal/selftest"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/cmd/percached/cli"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/llm/jinja"
)

func main() { os.Exit(status()) }

// oneCause is how long signals count as one: timeout(1), for one, sends two.
const oneCause = 250 * time.Millisecond

// status runs the command line of this process.
func status() int {
	if jinja.IsChild(os.Args) {
		return jinja.Serve(os.Stdin, os.Stdout)
	}
	private()
	// Who reads may go: then a write fails, and the data folder is closed in good order.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second signal ends the process at once.
	context.AfterFunc(ctx, func() { time.AfterFunc(oneCause, stop) })
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	return finish(ctx, err, os.Stderr)
}

// usageOf is what the caller of a command did wrongly.
type usageOf struct {
	command string
	error
}

func (u usageOf) Unwrap() error { return u.error }

// Sentence is the error of the command, without its name.
func (u usageOf) Sentence() string { return cmdline.Sentence(u.error) }

// run is the whole command.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	begun := false
	root := commands(stdin, stdout, stderr)
	root.SetArgs(args)
	// What fails before this is the caller's mistake.
	root.PersistentPreRun = func(*cobra.Command, []string) { begun = true }
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && (!begun || misused(err)) {
		return usageOf{cmd.CommandPath(), err}
	}
	return err
}

// commands is percached with all commands under it.
func commands(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "percached",
		Short: "Answers over your own documents, from work done before",
		Long: `Answers questions over your own documents with a model on this device, from work
done before. While a daemon (percached serve) runs on the data folder, commands ask
it; else they do the same themselves.

Exit status: 0 done; 1 failed, or not all was done; 2 called wrongly; 3 what is named
is not there; 4 not now, try again; 130 interrupted.`,
		Example: `  percached add ~/Mail/inbox.mbox
  percached ask "When is the dentist appointment?"
  percached serve`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          help,
	}
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(
		reindexCommand(), repairCommand(), restoreCommand(), simulateCommand(), tokenCommand(), configCommand(), pullCommand(), serveCommand(),
		benchCommand(selftest.OpenLlama), evalCommand(), demoCommand(), doctorCommand(selftest.OpenLlama), versionCommand(),
	)
	root.AddCommand(cli.Commands(host{})...)
	arrange(root)
	strict(root)
	return root
}

// strict makes cobra's own commands refuse names that they do not know, and all
// say how they are called when they are called otherwise.
func strict(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		tellUse(cmd)
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.RunE = help
		case "help":
			cmd.Args = func(_ *cobra.Command, names []string) error {
				if of, rest, _ := root.Find(names); len(rest) > 0 {
					return cmdline.Misusef("unknown command %q for %q", rest[0], of.CommandPath())
				}
				return nil
			}
		}
	}
}

// tellUse has a command, and all below it, say how it is called.
func tellUse(cmd *cobra.Command) {
	for _, under := range cmd.Commands() {
		tellUse(under)
	}
	right := cmd.Args
	if cmd.HasSubCommands() || right == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if right(cmd, args) != nil {
			return cmdline.Misusef("it is called as %s", cmd.UseLine())
		}
		return nil
	}
}

// arrange puts the commands into groups, as a person looks for them.
func arrange(root *cobra.Command) {
	for _, g := range []struct{ id, title, names string }{
		{"use", "Ask and add:", "ask add documents spaces status"},
		{"stored", "What is stored, and idle work:", "qa cache history predict idle reindex"},
		{"run", "Run it:", "serve demo config token pull doctor repair backup restore"},
		{"measure", "Measure it:", "bench eval simulate"},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range root.Commands() {
			if slices.Contains(strings.Fields(g.names), cmd.Name()) {
				cmd.GroupID = g.id
			}
		}
	}
}

// help is what a command does that is only a group.
func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// The exit statuses of a command. docs/operations.md tells them, too.
const (
	exitDone        = 0
	exitFailed      = 1 // or not all was done
	exitMisused     = 2 // it was called wrongly
	exitMissing     = 3 // what is named is not there
	exitNotNow      = 4 // it may be well to try again
	exitInterrupted = 130
	exitUnread      = 141 // who read its output went, as head does
)

// finish says what went wrong in one sentence, and gives the exit status.
func finish(ctx context.Context, err error, stderr io.Writer) int {
	var unwell cmdline.Unwell
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &unwell):
		return exitFailed
	case ctx.Err() != nil && !errors.Is(err, syscall.ENOSPC):
		fmt.Fprintln(stderr, "percached: interrupted")
		return exitInterrupted
	case unread(err):
		return exitUnread
	case misused(err):
		of := "percached"
		if u, ok := errors.AsType[usageOf](err); ok {
			of = u.command
		}
		fmt.Fprintf(stderr, "percached: %s; see %s --help\n", cmdline.Sentence(err), of)
		return exitMisused
	}
	said := cmdline.Sentence(err)
	if errors.Is(err, syscall.ENOSPC) && !strings.Contains(said, "disk is full") {
		said = "the disk is full: " + said
	}
	fmt.Fprintf(stderr, "percached: %s\n", said)
	return exitOf(err)
}

// unread says whether nobody reads the output any more.
func unread(err error) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	return ok && e.Path == os.Stdout.Name() && errors.Is(e.Err, syscall.EPIPE)
}

// misused says whether the caller did something wrongly.
func misused(err error) bool {
	var wrong cmdline.Misuse
	var of usageOf
	if errors.As(err, &wrong) || errors.As(err, &of) {
		return true
	}
	p, ok := errors.AsType[*client.ProblemError](err)
	return ok && (p.Problem.Status == http.StatusBadRequest || p.Problem.Status == http.StatusUnprocessableEntity)
}

// exitOf is the exit status of what failed.
func exitOf(err error) int {
	if p, ok := errors.AsType[*client.ProblemError](err); ok {
		switch p.Problem.Status {
		case http.StatusNotFound:
			return exitMissing
		case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return exitNotNow
		}
		return exitFailed
	}
	_, busy := errors.AsType[*home.InUse](err)
	switch kind := fault.KindOf(err); {
	case kind == fault.NotFound:
		return exitMissing
	case busy, kind == fault.Overloaded, kind == fault.Timeout, errors.Is(err, syscall.ENOSPC):
		return exitNotNow
	}
	return exitFailed
}
