package main

import (
	"context"
	"io"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/percached/percached/internal/commands"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"percached-eval": main, "percached": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}

// run runs a command line of percached-eval.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return commands.Run(ctx, root(stdin, stdout, stderr), args)
}
