package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
)

// yesFlag gives a command that deletes something the flag --yes.
func yesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "Do not ask for confirmation")
}

// confirm asks a person whether to go on, for example "delete the history of mail?". If yes
// is set it does not ask. If nobody can be asked it refuses. The error ends the command. The
// question names a daemon elsewhere, whose address may be in the environment.
func (c *session) confirm(ctx context.Context, yes bool, format string, args ...any) error {
	if c.Daemon != "" && c.Data == "" {
		format, args = "At %s: "+format, append([]any{c.Daemon}, args...)
	}
	return confirm(ctx, c.in, c.stderr, yes, format, args...)
}

func confirm(ctx context.Context, in io.Reader, stderr io.Writer, yes bool, format string, args ...any) error {
	question := cmdline.Plain(fmt.Sprintf(format, args...))
	switch {
	case yes:
		return nil
	case !cmdline.Terminal(in) || !cmdline.Terminal(stderr):
		return cmdline.Misusef("nothing was changed, because nobody can be asked here: %s Pass --yes to confirm", question)
	}
	fmt.Fprintf(stderr, "%s [y/N] ", question)
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n') // the end of input means no
		said <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case answer := <-said:
		if answer == "y" || answer == "yes" {
			return nil
		}
		cmdline.Say(stderr, "nothing was changed")
		return cmdline.Unwell{}
	case <-ctx.Done():
		fmt.Fprintln(stderr)
		return ctx.Err()
	}
}
