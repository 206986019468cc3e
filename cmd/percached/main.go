package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/fault"
)

func main() { os.Exit(status()) }

// oneCause is how long signals count as one: timeout(1), for one, sends two.
const oneCause = 250 * time.Millisecond

// status runs the command line of this process.
func status() int {
	private()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second signal ends the process at once.
	context.AfterFunc(ctx, func() { time.AfterFunc(oneCause, stop) })
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	return report(ctx, err, os.Stderr)
}

// usageError is what the caller did wrongly.
type usageError struct{ error }

func misuse(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errUnwell ends a command that has already said what is wrong.
var errUnwell = errors.New("not all is well")

// run is the whole command.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	begun := false
	root := &cobra.Command{
		Use:           "percached",
		Short:         "Answers over your own documents, from work done before",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		// What fails before this is the caller's mistake.
		PersistentPreRun: func(*cobra.Command, []string) { begun = true },
		RunE:             help,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(
		addCommand(), askCommand(), documentsCommand(), spacesCommand(), cacheCommand(), qaCommand(), historyCommand(), reindexCommand(), idleCommand(), predictCommand(), simulateCommand(), tokenCommand(), serveCommand(),
		benchCommand(openLlama), doctorCommand(openLlama), versionCommand(),
	)
	err := root.ExecuteContext(ctx)
	if err != nil && !begun {
		return usageError{err}
	}
	return err
}

// help is what a command does that is only a group.
func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// report says what went wrong in one sentence, and gives the exit status.
func report(ctx context.Context, err error, stderr io.Writer) int {
	var wrong usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUnwell):
		return 1
	case errors.As(err, &wrong):
		fmt.Fprintf(stderr, "percached: %v; see percached --help\n", err)
		return 2
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "percached: interrupted")
		return 1
	}
	fmt.Fprintf(stderr, "percached: %s\n", sentence(err))
	return 1
}

// sentence is an error without the operations that it went through.
func sentence(err error) string {
	for {
		f, ok := err.(*fault.Error)
		if !ok {
			return err.Error()
		}
		err = f.Err
	}
}
