package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

// drainFunc runs idle work now and returns its summary.
type drainFunc func(ctx context.Context) (*client.Drained, error)

// runIdleWork runs idle work, and shows each job as it ends and the summary.
func (c *session) runIdleWork(ctx context.Context, do drainFunc) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs, err := c.jobEvents(ctx)
	if err != nil {
		return err
	}
	type end struct {
		*client.Drained
		err error
	}
	ended := make(chan end, 1)
	go func() {
		d, err := do(ctx)
		ended <- end{d, err}
	}()
	t := &workProgress{session: c, began: time.Now(), said: time.Now()}
	defer t.wipe()
	for {
		select {
		case j, ok := <-jobs:
			if !ok {
				jobs = nil // the summary still comes
				continue
			}
			t.job(j)
			if t.err != nil { // stdout is closed
				return t.err
			}
		case e := <-ended:
			t.wipe()
			if ctx.Err() != nil && t.jobs > 0 {
				t.note("%d jobs are done; the next run continues with the rest", t.jobs)
			}
			if e.err != nil {
				return e.err
			}
			t.rest(jobs, e.Done+e.Nothing+e.Preempted+e.Failed)
			return t.end(e.Drained)
		}
	}
}

// workProgress shows the progress of idle work.
type workProgress struct {
	*session
	began, said time.Time
	jobs        int
	shown       bool  // the terminal shows a line
	err         error // of stdout
}

// showJob shows a job that ended.
func (t *workProgress) job(e client.Event) {
	t.jobs++
	if t.json {
		line := map[string]any{"space": e.Space}
		for k, v := range e.Data {
			line[k] = v
		}
		t.line(line)
		return
	}
	now := time.Now()
	said := fmt.Sprintf("%d jobs in %.0f s, last: %v in %s", t.jobs, now.Sub(t.began).Seconds(), e.Data["kind"], deref(e.Space))
	switch {
	case cmdline.Terminal(t.stderr):
		fmt.Fprintf(t.stderr, "\r\033[K%s", said)
		t.shown = true
	case now.Sub(t.said) > 5*time.Second:
		t.said = now
		t.note("%s", said)
	}
}

// awaitJobs prints, with --json, the jobs whose events have not arrived yet.
func (t *workProgress) rest(jobs <-chan client.Event, all int) {
	const patience = 10 * time.Second // some events may be lost
	for t.json && t.jobs < all && jobs != nil {
		select {
		case j, ok := <-jobs:
			if !ok {
				return
			}
			t.job(j)
		case <-time.After(patience):
			return
		}
	}
}

// clearLine clears the line on the terminal.
func (t *workProgress) wipe() {
	if t.shown {
		fmt.Fprint(t.stderr, "\r\033[K")
		t.shown = false
	}
}

func (t *workProgress) line(v any) {
	if t.err == nil {
		t.err = json.NewEncoder(t.out).Encode(v)
	}
}

// showResult prints the summary.
func (t *workProgress) end(d *client.Drained) error {
	if t.json {
		t.line(d)
	} else {
		p := &cmdline.Printer{W: t.out}
		printDrained(p, d)
		t.err = p.Err
	}
	if t.err == nil && d.Failed > 0 {
		return cmdline.Unwell{}
	}
	return t.err
}

// printDrained prints a summary as a table.
func printDrained(p *cmdline.Printer, d *client.Drained) {
	for _, k := range d.Kinds {
		p.Line("%-10s %5d jobs %4d failed %8.1f s %8d tokens read %7d written %10d bytes %5d questions",
			k.Kind, k.Done, k.Failed, k.Seconds, k.ComputedTokens, k.GeneratedTokens, k.BytesWritten, k.Questions)
	}
	if len(d.Kinds) == 0 {
		p.Line("no idle work was done")
		printReasons(p, d)
	}
	for _, r := range d.Reasons {
		if r.Code == client.ReasonCodeBound {
			p.Line("stopped: %s", r.Text)
		}
	}
	if d.Failed > 0 {
		p.Line("failed: %d; percached idle queue shows why. percached retries a job later, but not after five failures: then use percached idle retry", d.Failed)
	}
}

// printReasons prints why no idle work was done, unless nothing was due.
func printReasons(p *cmdline.Printer, d *client.Drained) {
	for _, r := range d.Reasons {
		if r.Code != client.ReasonCodeNothingDue {
			p.Line("  %s", r.Text)
		}
	}
}

// jobEvents returns the events of jobs that end, until ctx ends or the connection breaks.
func (c *session) jobEvents(ctx context.Context) (<-chan client.Event, error) {
	resp, err := c.Events(ctx, nil, client.AsEvents)
	if err != nil {
		return nil, err
	}
	jobs := make(chan client.Event)
	go func() {
		defer close(jobs)
		defer resp.Body.Close() //nolint:errcheck // the stream is over
		for m, err := range client.Messages(resp.Body) {
			var e client.Event
			if err != nil {
				return
			}
			if m.Event != string(client.EventTypeJob) || json.Unmarshal(m.Data, &e) != nil {
				continue
			}
			select {
			case jobs <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return jobs, nil
}
