package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/percached/percached/internal/base/cmdline"

	"github.com/percached/percached/api/client"
)

// errand is idle work that somebody wants done now, and what came of it.
type errand func(ctx context.Context) (*client.Drained, error)

// work does idle work, and tells of each job as it ends and what came of all.
func (c *invocation) work(ctx context.Context, do errand) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs, err := c.jobs(ctx)
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
	t := &telling{invocation: c, began: time.Now(), said: time.Now()}
	defer t.wipe()
	for {
		select {
		case j, ok := <-jobs:
			if !ok {
				jobs = nil // its end is told all the same
				continue
			}
			t.job(j)
			if t.err != nil { // nobody is there to be told of the rest
				return t.err
			}
		case e := <-ended:
			t.wipe()
			if ctx.Err() != nil && t.jobs > 0 {
				t.say("what %d jobs have done stays; the next run goes on there", t.jobs)
			}
			if e.err != nil {
				return e.err
			}
			t.rest(jobs, e.Done+e.Nothing+e.Preempted+e.Failed)
			return t.end(e.Drained)
		}
	}
}

// telling tells of work that is being done.
type telling struct {
	*invocation
	began, said time.Time
	jobs        int
	shown       bool  // there is a line on the terminal that is to be wiped
	err         error // of standard output
}

// job tells of one that ended.
func (t *telling) job(e client.Event) {
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
	said := fmt.Sprintf("%d jobs in %.0f s; the last one: %v in %s", t.jobs, now.Sub(t.began).Seconds(), e.Data["kind"], deref(e.Space))
	switch {
	case cmdline.Terminal(t.stderr):
		fmt.Fprintf(t.stderr, "\r\033[K%s", said)
		t.shown = true
	case now.Sub(t.said) > 5*time.Second:
		t.said = now
		t.say("%s", said)
	}
}

// rest tells programs of jobs whose news are under way still.
func (t *telling) rest(jobs <-chan client.Event, all int) {
	const patience = 10 * time.Second // some may have been lost on the way
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

// wipe takes the line on the terminal away.
func (t *telling) wipe() {
	if t.shown {
		fmt.Fprint(t.stderr, "\r\033[K")
		t.shown = false
	}
}

func (t *telling) line(v any) {
	if t.err == nil {
		t.err = json.NewEncoder(t.out).Encode(v)
	}
}

// end tells what came of all.
func (t *telling) end(d *client.Drained) error {
	if t.json {
		t.line(d)
	} else {
		p := &cmdline.Printer{W: t.out}
		drained(p, d)
		t.err = p.Err
	}
	if t.err == nil && d.Failed > 0 {
		return cmdline.Unwell{}
	}
	return t.err
}

// drained tells what was done.
func drained(p *cmdline.Printer, d *client.Drained) {
	for _, k := range d.Kinds {
		p.Line("%-10s %5d jobs %4d failed %8.1f s %8d tokens read %7d written %10d bytes %5d questions",
			k.Kind, k.Done, k.Failed, k.Seconds, k.ComputedTokens, k.GeneratedTokens, k.BytesWritten, k.Questions)
	}
	if len(d.Kinds) == 0 {
		p.Line("there was nothing to do")
		hindrances(p, d)
	}
	for _, r := range d.Reasons {
		if r.Code == client.ReasonCodeBound {
			p.Line("ended: %s", r.Text)
		}
	}
	if d.Failed > 0 {
		p.Line("failed: %d; percached idle queue tells why. They are tried again later, and after five attempts when percached idle retry says so", d.Failed)
	}
}

// hindrances tells why nothing was done, if it is not that there was nothing to do.
func hindrances(p *cmdline.Printer, d *client.Drained) {
	for _, r := range d.Reasons {
		if r.Code != client.ReasonCodeNothingDue {
			p.Line("  %s: %s", r.Code, r.Text)
		}
	}
}

// jobs gives the idle work that ends from now on, until ctx does or nobody answers
// any more.
func (c *invocation) jobs(ctx context.Context) (<-chan client.Event, error) {
	resp, err := c.Events(ctx, client.AsEvents)
	if err != nil {
		return nil, err
	}
	jobs := make(chan client.Event)
	go func() {
		defer close(jobs)
		defer resp.Body.Close() //nolint:errcheck // it is cut off
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
