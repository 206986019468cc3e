package prompt

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/term"

	"github.com/percached/percached/internal/base/fault"
)

// Terminal says whether a file is a terminal.
func Terminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Hidden asks a question and reads a line that the terminal does not show. An interrupt ends
// it; the terminal then shows what is typed again.
func Hidden(ctx context.Context, terminal *os.File, out io.Writer, question string) ([]byte, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "prompt.Hidden", "cannot ask at this terminal: %w", err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	fmt.Fprint(out, question)
	defer fmt.Fprintln(out)
	type line struct {
		text []byte
		err  error
	}
	typed := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		typed <- line{text, err}
	}()
	select {
	case l := <-typed:
		if l.err != nil {
			return nil, fault.New(fault.Unavailable, "prompt.Hidden", "cannot read what was typed: %w", l.err)
		}
		return l.text, nil
	case <-ctx.Done():
		term.Restore(fd, before) //nolint:errcheck // the command ends
		return nil, ctx.Err()
	}
}
