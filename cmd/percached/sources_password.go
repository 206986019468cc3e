package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/prompt"
)

// askPassword asks a person for a password, which the terminal does not show.
func askPassword(ctx context.Context, in io.Reader, stderr io.Writer, user, host string) (string, error) {
	terminal, ok := in.(*os.File)
	if !ok || !cmdline.Terminal(in) || !cmdline.Terminal(stderr) {
		return "", cmdline.Misusef("nobody can be asked for the password here; write it into a file that only you can read, and pass --password-file FILE")
	}
	text, err := prompt.Hidden(ctx, terminal, stderr, cmdline.Plain(fmt.Sprintf("Password of %s at %s: ", user, host)))
	if err == nil && len(text) == 0 {
		err = cmdline.Misusef("no password was typed")
	}
	return string(text), err
}
