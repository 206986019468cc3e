package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/commands"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"percached": func() { main() }})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: pullServer, Cmds: scriptCommands})
}

func TestExitStatus(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	here := context.Background()
	for _, tc := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
		says string
	}{
		{"well", here, nil, 0, ""},
		{"unwell", here, cmdline.Unwell{}, 1, ""},
		{"misuse", here, cmdline.Misusef("no %s", "way"), 2, "percached: no way; see percached --help\n"},
		{"fault", here, fault.Wrap("a", fault.New(fault.Invalid, "b", "it is wrong")), 1, "percached: it is wrong\n"},
		{"plain", here, errors.New("oh"), 1, "percached: oh\n"},
		{"signal", gone, fault.Wrap("a", context.Canceled), 130, "percached: interrupted\n"},
		{"unwell over the interface", here, cmdline.Unwell{}, 1, ""},
		{"missing", here, fault.New(fault.NotFound, "b", "it is nowhere"), 3, "percached: it is nowhere\n"},
		{"full", here, fault.New(fault.Overloaded, "b", "too many"), 4, "percached: too many\n"},
		{"no room", here, fault.New(fault.Unavailable, "b", "the disk is full: %w", syscall.ENOSPC), 4, "percached: the disk is full: no space left on device\n"},
		{"no room, and how much is wanted", here, fault.New(fault.Unavailable, "b", "%w, and 3 MiB are", &durable.Full{Needs: 128 << 20}), 4, "percached: the disk is full: 128 MiB must be free, and 3 MiB are\n"},
		{"wrongly set", here, cmdline.Misused(fault.New(fault.Invalid, "b", "it does not fit")), 2, "percached: it does not fit; see percached --help\n"},
		{"in use", here, fault.New(fault.Conflict, "b", "%w", &home.InUse{Who: "process 7", Dir: "d"}), 4, "percached: process 7 uses d: wait until it ends, end it, or name another folder with --data\n"},
		{"refused", here, &client.ProblemError{Problem: client.Problem{Status: 400, Title: "Wrong", Errors: []client.FieldError{{Field: "/k", Detail: "too much"}, {Field: "query:n", Detail: "too little"}}}}, 2, "percached: Wrong: k: too much; n: too little; see percached --help\n"},
		{"not there", here, &client.ProblemError{Problem: client.Problem{Status: 404, Title: "Gone", Detail: "there is none. List them.", Fix: "List them."}}, 3, "percached: there is none\n"},
		{"not now", here, fmt.Errorf("so: %w", &client.ProblemError{Problem: client.Problem{Status: 503, Title: "Not now"}}), 4, "percached: Not now\n"},
		{"broken", here, &client.ProblemError{Problem: client.Problem{Status: 500, Title: "Broken"}}, 1, "percached: Broken\n"},
	} {
		var out bytes.Buffer
		if got := commands.Finish(tc.ctx, tc.err, &out); got != tc.want || out.String() != tc.says {
			t.Errorf("%s: status %d, says %q", tc.name, got, out.String())
		}
	}
}

// run runs a command line of percached.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return commands.Run(ctx, root(stdin, stdout, stderr), args)
}
