package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

func idleCommand(dial dialer) *cobra.Command {
	return group("idle", "Run, show and pause idle work",
		`Idle work prepares answers while nobody asks: it refreshes stale answers, summarises
documents, predicts questions, and prefills or answers them.`,
		idleRun(dial), idleStatus(dial), idleQueue(dial), idleLedger(dial), idleRetry(dial),
		idleSwitch(dial, "pause", "Stop idle work until it is resumed", func(ctx context.Context, c *session) (*client.Idle, []byte, error) {
			r, err := c.PauseIdleWithResponse(ctx)
			if err != nil {
				return nil, nil, err
			}
			return r.JSON200, r.Body, nil
		}),
		idleSwitch(dial, "resume", "Allow idle work again", func(ctx context.Context, c *session) (*client.Idle, []byte, error) {
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
	return apiCommand{
		use: "run", short: "Run all due idle work now",
		example: `  percached idle run
  percached idle run --space mail --kind abstract,predict
  percached idle run --jobs 10`, space: allSpacesFlag, keys: answerKeys(), need: need{Model: true},
		long: `Runs all due idle work now, whatever the windows, the battery and the budget. The work
counts against the budget. While idle work is paused, the command does nothing. You can
interrupt it at any time; the next run continues with the remaining jobs. With --json it
prints a line for each job, then a summary. The exit status is 1 if a job failed.`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringSliceVar(&kinds, "kind", nil, "Kinds of jobs to run, separated by commas (default: all)")
			cmd.Flags().IntVar(&jobs, "jobs", 0, "Maximum number of jobs (default: no limit)")
			cmd.Flags().IntVar(&tokens, "tokens", 0, "Stop after the jobs have read and written this many tokens (default: no limit)")
		},
		before: func([]string) error {
			if jobs < 0 || tokens < 0 {
				return cmdline.Misusef("--jobs and --tokens must not be negative")
			}
			return nil
		},
		run: func(ctx context.Context, c *session, _ []string) error {
			p := client.DrainIdleParams{Space: optional(c.space), Jobs: optional(jobs), Tokens: optional(tokens)}
			for _, k := range kinds {
				p.Kind = append(p.Kind, client.JobKind(k))
			}
			return c.runIdleWork(ctx, c.drain(p))
		},
	}.command(dial)
}

// drain returns a function that runs the due jobs that p selects.
func (c *session) drain(p client.DrainIdleParams) drainFunc {
	return func(ctx context.Context) (*client.Drained, error) {
		r, err := c.DrainIdleWithResponse(ctx, &p)
		if err != nil {
			return nil, err
		}
		return r.JSON200, nil
	}
}

func idleSwitch(dial dialer, use, short string, do func(ctx context.Context, c *session) (*client.Idle, []byte, error)) *cobra.Command {
	return apiCommand{
		use: use, short: short,
		example: "  percached idle " + use,
		run: func(ctx context.Context, c *session, _ []string) error {
			r, body, err := do(ctx, c)
			if err != nil {
				return err
			}
			return c.printBody(body, func(p *cmdline.Printer) { p.Line("%s", r.State) })
		},
	}.command(dial)
}

func idleRetry(dial dialer) *cobra.Command {
	return apiCommand{
		use: "retry [JOB]...", short: "Retry failed jobs: the named ones, or all parked ones",
		example: `  percached idle retry
  percached idle retry 6b1f08c25a9d7e34`, args: cobra.ArbitraryArgs,
		before: func(jobs []string) error {
			for _, id := range jobs {
				if !isJob(id) {
					return cmdline.Misusef("%q is not a job ID: 16 hexadecimal digits, as percached idle queue prints them", id)
				}
			}
			return nil
		},
		run: func(ctx context.Context, c *session, jobs []string) error {
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
			return c.printJSON(map[string]int{"jobs": len(jobs)}, func(p *cmdline.Printer) { p.Line("%d jobs will be retried", len(jobs)) })
		},
	}.command(dial)
}

func idleQueue(dial dialer) *cobra.Command {
	return apiCommand{
		use: "queue", short: "Show waiting jobs, and why jobs are parked",
		example: `  percached idle queue --space mail`, space: allSpacesFlag,
		run: func(ctx context.Context, c *session, _ []string) error {
			if err := c.checkSpace(ctx); err != nil {
				return err
			}
			r, err := c.ListQueueWithResponse(ctx)
			if err != nil {
				return err
			}
			q := *r.JSON200
			q.Jobs = slices.DeleteFunc(q.Jobs, func(j client.Job) bool { return c.space != "" && j.Space != c.space })
			return c.printJSON(q, func(p *cmdline.Printer) { printQueue(p, q.Jobs) })
		},
	}.command(dial)
}

func printQueue(p *cmdline.Printer, jobs []client.Job) {
	if len(jobs) == 0 {
		p.Line("no job is waiting; percached idle run looks for due work")
	}
	for _, j := range jobs {
		state := ""
		switch {
		case j.Parked:
			state = fmt.Sprintf("parked after %d attempts: %s", j.Attempts, deref(j.Reason))
		case j.Attempts > 0:
			state = fmt.Sprintf("failed %d times, next attempt at %s: %s", j.Attempts, deref(j.From).Local().Format(time.DateTime), deref(j.Reason))
		case deref(j.From).After(time.Now()):
			state = "not before " + j.From.Local().Format(time.DateTime)
		}
		p.Line("%s  %-10s %-16s %-34s %s", j.ID, j.Kind, j.Space, j.Subject, state)
	}
}

func idleLedger(dial dialer) *cobra.Command {
	return apiCommand{
		use: "ledger", short: "Show cost and savings of idle work in the last 30 days",
		example: `  percached idle ledger`, space: allSpacesFlag,
		run: func(ctx context.Context, c *session, _ []string) error {
			r, err := c.GetLedgerWithResponse(ctx, &client.GetLedgerParams{Space: optional(c.space)})
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) { printLedger(p, r.JSON200) })
		},
	}.command(dial)
}

func printLedger(p *cmdline.Printer, l *client.Ledger) {
	if len(l.Accounts) == 0 {
		p.Line("no idle work since %s", dateText(&l.Since))
		return
	}
	p.Line("%-10s %6s %7s %10s %12s %14s %14s %8s %10s", "kind", "jobs", "failed", "seconds", "tokens read", "tokens written", "bytes written", "uses", "saved s")
	for _, a := range l.Accounts {
		p.Line("%-10s %6d %7d %10.1f %12d %14d %14d %8d %10.1f", a.Kind, a.Jobs, a.Failed, a.Seconds, a.ComputedTokens, a.GeneratedTokens, a.BytesWritten, a.Uses, a.EarnedSeconds)
	}
}

func idleStatus(dial dialer) *cobra.Command {
	return apiCommand{
		use: "status", short: "Show whether idle work may run now, and why not",
		example: `  percached idle status`,
		run: func(ctx context.Context, c *session, _ []string) error {
			r, err := c.GetIdleWithResponse(ctx)
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) { printIdle(p, r.JSON200) })
		},
	}.command(dial)
}

func printIdle(p *cmdline.Printer, r *client.Idle) {
	p.Line("%s", r.State)
	for _, why := range r.Reasons {
		p.Line("  %s", why.Text)
	}
	if r.State == client.IdleStateWaiting && len(r.Reasons) == 0 {
		p.Line("  idle work may run; percached idle run runs it now")
	}
	for _, k := range slices.Sorted(maps.Keys(r.Jobs)) {
		p.Line("  waiting jobs: %d %s", r.Jobs[k], k)
	}
	if r.Parked > 0 {
		p.Line("  parked after too many failures: %d; percached idle queue shows why, percached idle retry retries them", r.Parked)
	}
	left := r.Window.Left
	p.Line("budget until %[4]s: %[1]v of compute, %[2]d questions, %[3]s to write",
		time.Duration(left.ComputeSeconds*float64(time.Second)).Round(time.Second), left.Questions, cmdline.Size(left.BytesWritten), deref(r.Window.End).Local().Format(time.DateTime))
	for _, space := range slices.Sorted(maps.Keys(r.Pace)) {
		p.Line("prediction in %s: %s (%s)", space, r.Pace[space].Speed, r.Pace[space].Why)
	}
}
