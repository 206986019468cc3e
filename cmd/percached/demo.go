package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/cmd/percached/cli"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/config"
)

// demonstration is what percached demo is asked for.
type demonstration struct {
	model        string        // file of a language model; empty: the built-in one
	data         string        // empty: a folder that goes
	temp         string        // where folders that go are made; empty: the usual place
	predicting   time.Duration // how long prediction may take
	exit, asJSON bool
}

func demoCommand() *cobra.Command {
	// A slow machine leaves some of the prediction undone, and all stays under a minute.
	o := demonstration{predicting: 25 * time.Second}
	cmd := &cobra.Command{
		Use: "demo", Short: "Show what percached does, on an invented inbox", Args: cobra.NoArgs,
		Long: `Starts a daemon on a data folder of its own, takes in an invented inbox that is part
of the binary, and asks: for the first time, about another name, in other words,
what was predicted meanwhile, with stored tensors alone, and after the mail with the
answer was deleted. It prints what came of each question, tells the address of the
page and stays up until it is interrupted. Then the daemon ends and the folder goes.

Nothing is fetched from anywhere. The built-in model is tiny and there for
demonstration: its answers are often wrong, and the questions that it predicts are
clumsy. --model shows the same with a model that people use. What is checked is that stored
work is used where it may be, and that nothing of a deleted mail is left: otherwise
the exit status is 1. DEMO_EXIT=1 in the environment does what --exit does.`,
		Example: `  percached demo
  percached demo --exit --data ./demo
  percached demo --model smollm2-360m-instruct-q8_0.gguf
  percached demo --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if info, err := os.Stat(o.model); o.model != "" && (err != nil || info.IsDir()) {
				return cmdline.Misusef("--model: there is no file %s; percached pull fetches a model, and tells where it is", o.model)
			}
			o.exit = o.exit || o.asJSON || os.Getenv("DEMO_EXIT") == "1"
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.model, "model", "", "GGUF file of a language model (default: the one that is built in)")
	f.StringVar(&o.data, "data", "", "new data folder that stays behind (default: one that goes)")
	f.BoolVar(&o.exit, "exit", false, "end when all is shown")
	f.BoolVar(&o.asJSON, "json", false, "print a JSON object, and end")
	return cmd
}

// run shows all of it on a daemon that ends with the command.
func (o *demonstration) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	if o.data != "" && home.Exists(o.data) {
		return cmdline.Misusef("--data: %s is there already, and the demo begins with an empty one", o.data)
	}
	dir, err := os.MkdirTemp(o.temp, "percached-demo-")
	if err != nil {
		return fault.New(fault.Unavailable, "percached: demo", "%w", err)
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(dir)) }()
	data := o.data
	if data == "" {
		data = filepath.Join(dir, "data")
	}
	cmdline.Say(stderr, "Starting a daemon.")
	began := time.Now()
	d, alive, err := startOwnDaemon(ctx, data, filepath.Join(dir, "log"), o.model, stderr)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, d.end()) }()
	cmdline.Say(stderr, "  Process %d listens at %s, after %s.", d.pid(), d.url, span(time.Since(began)))
	if usual := config.Default().Serving.Listen; !strings.HasSuffix(d.url, usual) {
		cmdline.Say(stderr, "  (Another program listens at %s.)", usual)
	}
	if err := o.tell(alive, began, d, stdout, stderr); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return d.explained(err, stderr)
	}
	if o.exit {
		return nil
	}
	if err := o.invite(d.process, data, stdout); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-d.gone:
		if ctx.Err() == nil {
			return d.died(stderr)
		}
	}
	return nil
}

// tell tells the story and what came of it.
func (o *demonstration) tell(ctx context.Context, began time.Time, d *ownDaemon, stdout, stderr io.Writer) error {
	c, err := client.NewClientWithResponses(d.url, client.WithToken(d.token))
	if err != nil {
		return fault.New(fault.Internal, "percached: demo", "%w", err)
	}
	s := &story{api: c, out: stderr, predicting: o.predicting, report: demoReport{Questions: []demoRow{}, Wrong: []string{}, builtIn: o.model == ""}}
	if err := s.tell(ctx); err != nil {
		return err
	}
	s.report.Seconds = time.Since(began).Seconds()
	if err := cmdline.Show(stdout, o.asJSON, &s.report); err != nil {
		return err
	}
	if len(s.report.Wrong) > 0 {
		return cmdline.Unwell{}
	}
	return nil
}

// invite tells how to go on by oneself.
func (o *demonstration) invite(d *process, data string, stdout io.Writer) error {
	p := &cmdline.Printer{W: stdout}
	p.Line("")
	p.Line("Ask it yourself on the page:")
	p.Line("  %s/#token=%s", d.url, d.token)
	p.Line("or from a program:")
	p.Line("  curl -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' \\", d.token)
	p.Line("    -d '{\"question\": %q}' %s/v1/spaces/%s/ask", "What is the code of the key safe at Gannet House?", d.url, cli.DefaultSpace)
	p.Line("or from another terminal:")
	p.Line("  %s ask \"What is the code of the key safe at Gannet House?\" --data %s", os.Args[0], data)
	p.Line("")
	folder := "its folder is removed"
	if o.data != "" {
		folder = o.data + " stays"
	}
	p.Line("The daemon stays up until you press Ctrl-C; then %s.", folder)
	return p.Err
}
