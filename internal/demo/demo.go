package demo

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/child"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/link"
)

// Demo has the options of percached demo.
type Demo struct {
	Model          string        // file of a language model; empty: the built-in one
	Data           string        // empty: a temporary folder
	Temp           string        // parent of temporary folders; empty: the system's
	PredictionTime time.Duration // maximum time for prediction
	Exit, AsJSON   bool
}

// Run runs the demo.
func (o *Demo) Run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	if o.Data != "" && home.Exists(o.Data) {
		return cmdline.Misusef("--data: %s exists; name a new folder", o.Data)
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
	cmdline.Say(stderr, "  Process %d is listening on %s after %s.", d.PID(), d.URL, seconds(time.Since(began)))
	if usual := config.Default().Serving.Listen; !strings.HasSuffix(d.URL, usual) {
		cmdline.Say(stderr, "  (Another program uses %s.)", usual)
	}
	if err := o.runStory(alive, began, d, stdout, stderr); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return d.explain(err, stderr)
	}
	if o.Exit {
		return nil
	}
	if err := o.printNextSteps(d.Process, data, stdout); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-d.exited:
		if ctx.Err() == nil {
			return d.exitError(stderr)
		}
	}
	return nil
}

// runStory runs the steps and prints the report.
func (o *Demo) runStory(ctx context.Context, began time.Time, d *ownDaemon, stdout, stderr io.Writer) error {
	c, err := client.NewClientWithResponses(d.URL, client.WithToken(d.Token))
	if err != nil {
		return fault.New(fault.Internal, "percached: demo", "%w", err)
	}
	s := &story{api: c, out: stderr, predictionTime: o.PredictionTime, report: Report{Questions: []row{}, Failures: []string{}, builtIn: o.Model == ""}}
	if err := s.run(ctx); err != nil {
		return err
	}
	s.report.Seconds = time.Since(began).Seconds()
	if err := cmdline.Show(stdout, o.AsJSON, &s.report); err != nil {
		return err
	}
	if len(s.report.Failures) > 0 {
		return cmdline.Unwell{}
	}
	return nil
}

// printNextSteps prints how to continue with the demo's data.
func (o *Demo) printNextSteps(d *child.Process, data string, stdout io.Writer) error {
	p := &cmdline.Printer{W: stdout}
	p.Line("")
	p.Line("Ask your own questions on the web page:")
	p.Line("  %s/#token=%s", d.URL, d.Token)
	p.Line("or from a program:")
	p.Line("  curl -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' \\", d.Token)
	p.Line("    -d '{\"question\": %q}' %s/v1/spaces/%s/ask", "What is the code of the key safe at Gannet House?", d.URL, link.DefaultSpace)
	p.Line("or in another terminal:")
	p.Line("  %s ask \"What is the code of the key safe at Gannet House?\" --data %s", os.Args[0], data)
	p.Line("")
	folder := "then its folder is deleted"
	if o.Data != "" {
		folder = o.Data + " is kept"
	}
	p.Line("Press Ctrl-C to stop the daemon; %s.", folder)
	return p.Err
}
