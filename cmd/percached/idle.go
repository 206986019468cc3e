package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/percached/percached/internal/base/cmdline"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
)

func idleCommand(dial dialer) *cobra.Command {
	return group("idle", "Idle work: do it now, look at it, pause it",
		`Idle work makes answers ready before they are asked for: it answers stale entries
again, sums documents up, predicts questions, prefills and answers them.`,
		idleRun(dial), idleStatus(dial), idleQueue(dial), idleLedger(dial), idleRetry(dial),
		idleSwitch(dial, "pause", "Do no idle work until it is resumed", func(ctx context.Context, c *invocation) (*client.Idle, []byte, error) {
			r, err := c.PauseIdleWithResponse(ctx)
			if err != nil {
				return nil, nil, err
			}
			return r.JSON200, r.Body, nil
		}),
		idleSwitch(dial, "resume", "Do idle work again", func(ctx context.Context, c *invocation) (*client.Idle, []byte, error) {
			r, err := c.ResumeIdleWithResponse(ctx)
			if err != nil {
				return nil, nil, err
			}
			return r.JSON200, r.Body, nil
		}),
	)
}

func idleRun(dial dialer) *cobra.Command {
	var kinds []string
	var jobs, tokens int
	return verb{
		use: "run", short: "Do all idle work that is due, now",
		example: `  percached idle run
  percached idle run --space mail --kind abstract,predict
  percached idle run --jobs 10`, space: anySpace, keys: answerKeys(), need: need{Model: true},
		long: `Does all idle work that is due, whatever the time, the battery and the budget: it
was asked for. Only when idle work is paused it does nothing. What it takes counts
against the budget all the same. It can be interrupted at any moment; what was done
stays done, and the next run goes on there. With --json, a line for each job as it
ends, and one for all at the end. Exit status 1 if a job failed.`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringSliceVar(&kinds, "kind", nil, "kinds of jobs that are done, with commas (default: all)")
			cmd.Flags().IntVar(&jobs, "jobs", 0, "end when so many jobs are done (default: when nothing is due)")
			cmd.Flags().IntVar(&tokens, "tokens", 0, "end when the jobs have read and written so many tokens (default: when nothing is due)")
		},
		before: func([]string) error {
			if jobs < 0 || tokens < 0 {
				return cmdline.Misusef("--jobs and --tokens are 1 or more")
			}
			return nil
		},
		run: func(ctx context.Context, c *invocation, _ []string) error {
			p := client.DrainIdleParams{Space: optional(c.space), Jobs: optional(jobs), Tokens: optional(tokens)}
			for _, k := range kinds {
				p.Kind = append(p.Kind, client.JobKind(k))
			}
			return c.work(ctx, c.draining(p))
		},
	}.command(dial)
}

// draining is all work that is due of what the parameters say.
func (c *invocation) draining(p client.DrainIdleParams) errand {
	return func(ctx context.Context) (*client.Drained, error) {
		r, err := c.DrainIdleWithResponse(ctx, &p)
		if err != nil {
			return nil, err
		}
		return r.JSON200, nil
	}
}

func idleSwitch(dial dialer, use, short string, do func(ctx context.Context, c *invocation) (*client.Idle, []byte, error)) *cobra.Command {
	return verb{
		use: use, short: short,
		example: "  percached idle " + use,
		run: func(ctx context.Context, c *invocation, _ []string) error {
			r, body, err := do(ctx, c)
			if err != nil {
				return err
			}
			return c.show(body, func(p *cmdline.Printer) { p.Line("%s", r.State) })
		},
	}.command(dial)
}

func idleRetry(dial dialer) *cobra.Command {
	return verb{
		use: "retry [JOB]...", short: "Try jobs that failed again: those named, or all that are parked",
		example: `  percached idle retry
  percached idle retry 6b1f08c25a9d7e34`, args: cobra.ArbitraryArgs,
		before: func(jobs []string) error {
			for _, id := range jobs {
				if !isJob(id) {
					return cmdline.Misusef("%q is no job: its ID has 16 hexadecimal digits, as idle queue tells it", id)
				}
			}
			return nil
		},
		run: func(ctx context.Context, c *invocation, jobs []string) error {
			if len(jobs) == 0 {
				r, err := c.ListQueueWithResponse(ctx)
				if err != nil {
					return err
				}
				for _, j := range r.JSON200.Jobs {
					if j.Parked {
						jobs = append(jobs, j.ID)
					}
				}
			}
			for _, id := range jobs {
				if _, err := c.RetryJobWithResponse(ctx, id); err != nil {
					return err
				}
			}
			return c.showAll(map[string]int{"jobs": len(jobs)}, func(p *cmdline.Printer) { p.Line("%d jobs will be tried again", len(jobs)) })
		},
	}.command(dial)
}

func idleQueue(dial dialer) *cobra.Command {
	return verb{
		use: "queue", short: "Show the jobs that wait, and why some are parked",
		example: `  percached idle queue --space mail`, space: anySpace,
		run: func(ctx context.Context, c *invocation, _ []string) error {
			if err := c.there(ctx); err != nil {
				return err
			}
			r, err := c.ListQueueWithResponse(ctx)
			if err != nil {
				return err
			}
			q := *r.JSON200
			q.Jobs = slices.DeleteFunc(q.Jobs, func(j client.Job) bool { return c.space != "" && j.Space != c.space })
			return c.showAll(q, func(p *cmdline.Printer) { queue(p, q.Jobs) })
		},
	}.command(dial)
}

func queue(p *cmdline.Printer, jobs []client.Job) {
	if len(jobs) == 0 {
		p.Line("no job waits; percached idle run finds out what is due")
	}
	for _, j := range jobs {
		state := ""
		switch {
		case j.Parked:
			state = fmt.Sprintf("parked after %d attempts: %s", j.Attempts, deref(j.Reason))
		case j.Attempts > 0:
			state = fmt.Sprintf("failed %d times, again at %s: %s", j.Attempts, deref(j.From).Local().Format(time.DateTime), deref(j.Reason))
		case deref(j.From).After(time.Now()):
			state = "not before " + j.From.Local().Format(time.DateTime)
		}
		p.Line("%s  %-10s %-16s %-34s %s", j.ID, j.Kind, j.Space, j.Subject, state)
	}
}

func idleLedger(dial dialer) *cobra.Command {
	return verb{
		use: "ledger", short: "Show what idle work cost and what it saved, in the last 30 days",
		example: `  percached idle ledger`, space: anySpace,
		run: func(ctx context.Context, c *invocation, _ []string) error {
			r, err := c.GetLedgerWithResponse(ctx, &client.GetLedgerParams{Space: optional(c.space)})
			if err != nil {
				return err
			}
			return c.show(r.Body, func(p *cmdline.Printer) { ledger(p, r.JSON200) })
		},
	}.command(dial)
}

func ledger(p *cmdline.Printer, l *client.Ledger) {
	if len(l.Accounts) == 0 {
		p.Line("no idle work was done since %s", l.Since.Format(time.DateOnly))
		return
	}
	p.Line("%-10s %6s %7s %10s %12s %14s %14s %8s %10s", "kind", "jobs", "failed", "seconds", "tokens read", "tokens written", "bytes written", "uses", "saved s")
	for _, a := range l.Accounts {
		p.Line("%-10s %6d %7d %10.1f %12d %14d %14d %8d %10.1f", a.Kind, a.Jobs, a.Failed, a.Seconds, a.ComputedTokens, a.GeneratedTokens, a.BytesWritten, a.Uses, a.EarnedSeconds)
	}
}

func idleStatus(dial dialer) *cobra.Command {
	return verb{
		use: "status", short: "Show whether idle work would be done now, and if not, why",
		example: `  percached idle status`,
		run: func(ctx context.Context, c *invocation, _ []string) error {
			r, err := c.GetIdleWithResponse(ctx)
			if err != nil {
				return err
			}
			return c.show(r.Body, func(p *cmdline.Printer) { idleness(p, r.JSON200) })
		},
	}.command(dial)
}

func idleness(p *cmdline.Printer, r *client.Idle) {
	p.Line("%s", r.State)
	for _, why := range r.Reasons {
		p.Line("  %s: %s", why.Code, why.Text)
	}
	if r.State == client.IdleStateWaiting && len(r.Reasons) == 0 {
		p.Line("  nothing speaks against working: percached idle run does what is due")
	}
	for _, k := range slices.Sorted(maps.Keys(r.Jobs)) {
		p.Line("  jobs that wait: %d %s", r.Jobs[k], k)
	}
	if r.Parked > 0 {
		p.Line("  jobs that failed too often and are parked: %d; percached idle queue tells why, percached idle retry JOB tries one again", r.Parked)
	}
	left := r.Window.Left
	p.Line("budget: %v of compute, %d questions, %s to write are left until %s",
		time.Duration(left.ComputeSeconds*float64(time.Second)).Round(time.Second), left.Questions, cmdline.Size(left.BytesWritten), deref(r.Window.End).Local().Format(time.DateTime))
	for _, space := range slices.Sorted(maps.Keys(r.Pace)) {
		p.Line("prediction in %s: %s (%s)", space, r.Pace[space].Speed, r.Pace[space].Why)
	}
}
