package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/llm/jinja"
)

// oneSignal is how long repeated signals count as one. timeout(1), for example, sends two.
const oneSignal = 250 * time.Millisecond

// Main runs the command line of this process and returns its exit status.
func Main(root func(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command) int {
	if jinja.IsChild(os.Args) {
		return jinja.Serve(os.Stdin, os.Stdout)
	}
	makeFilesPrivate()
	// The reader of a pipe may close it. Then a write fails, and the data folder is closed properly.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, func() { time.AfterFunc(oneSignal, stop) })
	err := Run(ctx, root(os.Stdin, os.Stdout, os.Stderr), os.Args[1:])
	return Finish(ctx, err, os.Stderr)
}

// usageError is a wrong call of a command.
type usageError struct {
	command string
	error
}

func (u usageError) Unwrap() error { return u.error }

// Sentence is the error's text without the command.
func (u usageError) Sentence() string { return cmdline.Sentence(u.error) }

// Run runs a command line.
func Run(ctx context.Context, root *cobra.Command, args []string) error {
	begun := false
	root.SetArgs(args)
	// What fails before this is an error of the caller.
	root.PersistentPreRun = func(*cobra.Command, []string) { begun = true }
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && (!begun || Misused(err)) {
		return usageError{cmd.CommandPath(), err}
	}
	return err
}

// The exit statuses of a command. docs/operations.md lists them.
const (
	ExitDone        = 0
	ExitFailed      = 1 // failed, or not everything was done
	ExitMisused     = 2 // called wrongly
	ExitMissing     = 3 // the thing named does not exist
	ExitNotNow      = 4 // trying again may help
	ExitInterrupted = 130
	ExitUnread      = 141 // the reader of the output closed it, as head does
)

// Finish prints an error as one sentence and returns the exit status.
func Finish(ctx context.Context, err error, stderr io.Writer) int {
	var unwell cmdline.Unwell
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &unwell):
		return ExitFailed
	case ctx.Err() != nil && !errors.Is(err, syscall.ENOSPC):
		fmt.Fprintln(stderr, "percached: interrupted")
		return ExitInterrupted
	case unread(err):
		return ExitUnread
	case Misused(err):
		of := "percached"
		if u, ok := errors.AsType[usageError](err); ok {
			of = u.command
		}
		fmt.Fprintf(stderr, "percached: %s; see %s --help\n", cmdline.Sentence(err), of)
		return ExitMisused
	}
	text := cmdline.Sentence(err)
	if errors.Is(err, syscall.ENOSPC) && !strings.Contains(text, "disk is full") {
		text = "the disk is full: " + text
	}
	fmt.Fprintf(stderr, "percached: %s\n", text)
	return ExitOf(err)
}

// unread says that the reader of the output has closed it.
func unread(err error) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	return ok && e.Path == os.Stdout.Name() && errors.Is(e.Err, syscall.EPIPE)
}

// Misused says that the caller made the error.
func Misused(err error) bool {
	var wrong cmdline.Misuse
	var of usageError
	if errors.As(err, &wrong) || errors.As(err, &of) {
		return true
	}
	p, ok := errors.AsType[*client.ProblemError](err)
	return ok && (p.Problem.Status == http.StatusBadRequest || p.Problem.Status == http.StatusUnprocessableEntity)
}

// ExitOf is the exit status of an error.
func ExitOf(err error) int {
	if p, ok := errors.AsType[*client.ProblemError](err); ok {
		switch p.Problem.Status {
		case http.StatusNotFound:
			return ExitMissing
		case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return ExitNotNow
		}
		return ExitFailed
	}
	_, busy := errors.AsType[*home.InUse](err)
	switch kind := fault.KindOf(err); {
	case kind == fault.NotFound:
		return ExitMissing
	case busy, kind == fault.Overloaded, kind == fault.Timeout, errors.Is(err, syscall.ENOSPC):
		return ExitNotNow
	}
	return ExitFailed
}
