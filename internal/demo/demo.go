package demo

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/percached/percached/internal/child"
	"github.com/percached/percached/internal/link"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/config"
)

// Demo is what percached demo is asked for.
type Demo struct {
	Model        string        // file of a language model; empty: the built-in one
	Data         string        // empty: a folder that goes
	Temp         string        // where folders that go are made; empty: the usual place
	Predicting   time.Duration // how long prediction may take
	Exit, AsJSON bool
}

// Run shows all of it on a daemon that ends with the command.
func (o *Demo) Run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	if o.Data != "" && home.Exists(o.Data) {
		return cmdline.Misusef("--data: %s is there already, and the demo begins with an empty one", o.Data)
	}
	dir, err := os.MkdirTemp(o.Temp, "percached-demo-")
	if err != nil {
		return fault.New(fault.Unavailable, "percached: demo", "%w", err)
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(dir)) }()
	data := o.Data
	if data == "" {
		data = filepath.Join(dir, "data")
	}
	cmdline.Say(stderr, "Starting a daemon.")
	began := time.Now()
	d, alive, err := startOwnDaemon(ctx, data, filepath.Join(dir, "log"), o.Model, stderr)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, d.end()) }()
	cmdline.Say(stderr, "  Process %d listens at %s, after %s.", d.PID(), d.URL, span(time.Since(began)))
	if usual := config.Default().Serving.Listen; !strings.HasSuffix(d.URL, usual) {
		cmdline.Say(stderr, "  (Another program listens at %s.)", usual)
	}
	if err := o.tell(alive, began, d, stdout, stderr); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return d.explained(err, stderr)
	}
	if o.Exit {
		return nil
	}
	if err := o.invite(d.Process, data, stdout); err != nil {
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
func (o *Demo) tell(ctx context.Context, began time.Time, d *ownDaemon, stdout, stderr io.Writer) error {
	c, err := client.NewClientWithResponses(d.URL, client.WithToken(d.Token))
	if err != nil {
		return fault.New(fault.Internal, "percached: demo", "%w", err)
	}
	s := &story{api: c, out: stderr, predicting: o.Predicting, report: Report{Questions: []demoRow{}, Wrong: []string{}, builtIn: o.Model == ""}}
	if err := s.tell(ctx); err != nil {
		return err
	}
	s.report.Seconds = time.Since(began).Seconds()
	if err := cmdline.Show(stdout, o.AsJSON, &s.report); err != nil {
		return err
	}
	if len(s.report.Wrong) > 0 {
		return cmdline.Unwell{}
	}
	return nil
}

// invite tells how to go on by oneself.
func (o *Demo) invite(d *child.Process, data string, stdout io.Writer) error {
	p := &cmdline.Printer{W: stdout}
	p.Line("")
	p.Line("Ask it yourself on the page:")
	p.Line("  %s/#token=%s", d.URL, d.Token)
	p.Line("or from a program:")
	p.Line("  curl -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' \\", d.Token)
	p.Line("    -d '{\"question\": %q}' %s/v1/spaces/%s/ask", "What is the code of the key safe at Gannet House?", d.URL, link.DefaultSpace)
	p.Line("or from another terminal:")
	p.Line("  %s ask \"What is the code of the key safe at Gannet House?\" --data %s", os.Args[0], data)
	p.Line("")
	folder := "its folder is removed"
	if o.Data != "" {
		folder = o.Data + " stays"
	}
	p.Line("The daemon stays up until you press Ctrl-C; then %s.", folder)
	return p.Err
}
