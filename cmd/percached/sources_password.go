package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
)

// askPassword asks a person for a password, which the terminal does not show.
func askPassword(ctx context.Context, in io.Reader, stderr io.Writer, user, host string) (string, error) {
	terminal, ok := in.(*os.File)
	if !ok || !cmdline.Terminal(in) || !cmdline.Terminal(stderr) {
		return "", cmdline.Misusef("nobody can be asked for the password here; write it into a file that only you can read, and pass --password-file FILE")
	}
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fault.New(fault.Unavailable, "cli.sources", "cannot ask for the password: %w", err)
	}
	fmt.Fprint(stderr, cmdline.Plain(fmt.Sprintf("Password of %s at %s: ", user, host)))
	type answer struct {
		text []byte
		err  error
	}
	said := make(chan answer, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		said <- answer{text, err}
	}()
	select {
	case a := <-said:
		fmt.Fprintln(stderr)
		if a.err != nil || len(a.text) == 0 {
			return "", cmdline.Misusef("no password was typed")
		}
		return string(a.text), nil
	case <-ctx.Done():
		term.Restore(fd, before) //nolint:errcheck // the command ends
		fmt.Fprintln(stderr)
		return "", ctx.Err()
	}
}
