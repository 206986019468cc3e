package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api"
	"github.com/percached/percached/scheduler"
)

func idleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "idle", Short: "Idle work: do it now, look at it, pause it", Args: cobra.NoArgs, RunE: help,
		Long: `Idle work makes answers ready before they are asked for: it answers stale entries
again, sums documents up, predicts questions, prefills and answers them.`,
	}
	cmd.AddCommand(
		idleRun(), idleStatus(), idleQueue(), idleLedger(), idleRetry(),
		idleSwitch("pause", "Do no idle work until it is resumed", "paused, until percached idle resume", (*scheduler.Scheduler).Pause),
		idleSwitch("resume", "Do idle work again", "not paused", (*scheduler.Scheduler).Resume),
	)
	return cmd
}

// idleFlags say how idle work is done.
func (c *setup) idleFlags(cmd *cobra.Command) {
	c.flags(cmd, "cutoff", "stride")
}

// stepLine is a job that ended, as programs are told of it.
type stepLine struct {
	ID        string         `json:"id"`
	Kind      scheduler.Kind `json:"kind"`
	Space     string         `json:"space"`
	Subject   string         `json:"subject"`
	End       scheduler.End  `json:"end"`
	Seconds   float64        `json:"seconds"`
	Computed  int            `json:"computed_tokens"`
	Generated int            `json:"generated_tokens"`
	Written   int64          `json:"bytes_written"`
	Questions int            `json:"questions"`
	Reason    string         `json:"reason,omitempty"`
}

func lineOf(s scheduler.Step) stepLine {
	return stepLine{
		s.Job.ID(), s.Job.Kind, s.Job.Space, s.Job.Subject, s.End, s.Took.Seconds(),
		s.Done.Computed, s.Done.Generated, s.Done.Written, s.Done.Questions, s.Job.Reason,
	}
}

// summaryReport is what an idle run did, by kind.
type summaryReport struct {
	Kinds   []kindLine `json:"kinds"`
	Seconds float64    `json:"seconds"`
	Waiting int        `json:"waiting"` // jobs that failed and are tried again
	Parked  int        `json:"parked"`
}

type kindLine struct {
	Kind      scheduler.Kind `json:"kind"`
	Jobs      int            `json:"jobs"`
	Failed    int            `json:"failed"`
	Seconds   float64        `json:"seconds"`
	Computed  int            `json:"computed_tokens"`
	Generated int            `json:"generated_tokens"`
	Written   int64          `json:"bytes_written"`
	Questions int            `json:"questions"`
}

// add counts a job that ended.
func (r *summaryReport) add(s stepLine) {
	for i := range r.Kinds {
		if r.Kinds[i].Kind == s.Kind {
			k := &r.Kinds[i]
			switch s.End {
			case scheduler.EndDone:
				k.Jobs++
			case scheduler.EndFailed, scheduler.EndParked:
				k.Failed++
			}
			k.Seconds += s.Seconds
			k.Computed, k.Generated = k.Computed+s.Computed, k.Generated+s.Generated
			k.Written, k.Questions = k.Written+s.Written, k.Questions+s.Questions
			r.Seconds += s.Seconds
			return
		}
	}
	r.Kinds = append(r.Kinds, kindLine{Kind: s.Kind})
	r.add(s)
}

func (r *summaryReport) table(w io.Writer) error {
	p := &printer{w: w}
	for _, k := range r.Kinds {
		p.line("%-10s %5d jobs %4d failed %8.1f s %8d tokens read %7d written %10d bytes %5d questions",
			k.Kind, k.Jobs, k.Failed, k.Seconds, k.Computed, k.Generated, k.Written, k.Questions)
	}
	if r.Waiting > 0 {
		p.line("failed, and to be tried again: %d; percached idle queue tells why", r.Waiting)
	}
	if r.Parked > 0 {
		p.line("failed too often and parked: %d, and what follows from them waits; percached idle queue tells why, percached idle retry tries them again", r.Parked)
	}
	return p.err
}

func idleRun() *cobra.Command {
	c := defaultSetup()
	var asJSON bool
	cmd := &cobra.Command{
		Use: "run", Short: "Do all idle work that is due, now", Args: cobra.NoArgs,
		Long: `Does all idle work that is due, whatever the time, the battery and the budget: it
was asked for. Only when idle work is paused it does nothing. What it takes counts
against the budget all the same. It can be interrupted at any moment; what was done
stays done, and the next run goes on there. With --json, a JSON object a line for
each job as it ends.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withService(cmd, c, true, func(ctx context.Context, s *service) error {
				return s.drain(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr(), asJSON)
			})
		},
	}
	c.dataFlag(cmd)
	c.answerFlags(cmd)
	c.idleFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object for each job")
	return cmd
}

// drain does all idle work that is due.
func (s *service) drain(ctx context.Context, stdout, stderr io.Writer, asJSON bool) error {
	r := &summaryReport{}
	enc, said := json.NewEncoder(stdout), time.Now()
	var told error
	_, err := s.scheduler.Drain(ctx, nil, func(st scheduler.Step) {
		if st.Job == nil {
			return
		}
		line := lineOf(st)
		r.add(line)
		if asJSON && told == nil {
			told = enc.Encode(line)
		}
		if now := time.Now(); !asJSON && now.Sub(said) > 5*time.Second {
			said = now
			say(stderr, "%s in %s; %.0f s so far", st.Job.Kind, st.Job.Space, r.Seconds)
		}
	})
	for _, j := range s.scheduler.Queue() {
		switch {
		case j.Parked:
			r.Parked++
		case j.Attempts > 0:
			r.Waiting++
		}
	}
	if err == nil {
		err = told
	}
	if !asJSON {
		if len(r.Kinds) == 0 && err == nil {
			err = s.idled(stdout)
		}
		if told := r.table(stdout); err == nil {
			err = told
		}
	}
	return err
}

// idled says why no work was done.
func (s *service) idled(w io.Writer) error {
	st, err := s.scheduler.Status()
	if err != nil {
		return err
	}
	p := &printer{w: w}
	if st.State == scheduler.Paused {
		p.line("idle work is paused, and nothing was done: percached idle resume")
	} else {
		p.line("there was nothing to do")
	}
	return p.err
}

func idleRetry() *cobra.Command {
	c := defaultSetup()
	cmd := &cobra.Command{
		Use: "retry [JOB]...", Short: "Try jobs that failed again: those named, or all that are parked", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withService(cmd, c, false, func(_ context.Context, s *service) error {
				if len(args) == 0 {
					for _, j := range s.scheduler.Queue() {
						if j.Parked {
							args = append(args, j.ID())
						}
					}
				}
				for _, id := range args {
					if err := s.scheduler.Retry(id); err != nil {
						return err
					}
				}
				p := &printer{w: cmd.OutOrStdout()}
				p.line("%d jobs will be tried again", len(args))
				return p.err
			})
		},
	}
	c.dataFlag(cmd)
	return cmd
}

func idleSwitch(use, short, done string, do func(*scheduler.Scheduler) error) *cobra.Command {
	c := defaultSetup()
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withService(cmd, c, false, func(_ context.Context, s *service) error {
				if err := do(s.scheduler); err != nil {
					return err
				}
				p := &printer{w: cmd.OutOrStdout()}
				p.line("%s", done)
				return p.err
			})
		},
	}
	c.dataFlag(cmd)
	return cmd
}

func idleQueue() *cobra.Command {
	return spaceVerb("queue", "Show the jobs that wait, and why some are parked", func(_ context.Context, s *service, space string) (showable, error) {
		return &queueReport{s.queue(space), s.now()}, nil
	})
}

type queueReport struct {
	api.Queue
	now time.Time
}

func (r *queueReport) table(w io.Writer) error {
	p := &printer{w: w}
	if len(r.Jobs) == 0 {
		p.line("no job waits; percached idle run finds out what is due")
	}
	for _, j := range r.Jobs {
		state := ""
		switch {
		case j.Parked:
			state = fmt.Sprintf("parked after %d attempts: %s", j.Attempts, j.Reason)
		case j.Attempts > 0:
			state = fmt.Sprintf("failed %d times, again at %s: %s", j.Attempts, j.From.Format(time.DateTime), j.Reason)
		case j.From.After(r.now):
			state = "not before " + j.From.Format(time.DateTime)
		}
		p.line("%s  %-10s %-16s %-34s %s", j.ID, j.Kind, j.Space, j.Subject, state)
	}
	return p.err
}

// ledgerReport is what idle work cost and saved.
type ledgerReport struct{ api.Ledger }

func (r *ledgerReport) table(w io.Writer) error {
	p := &printer{w: w}
	if len(r.Accounts) == 0 {
		p.line("no idle work was done since %s", r.Since.Format(time.DateOnly))
		return p.err
	}
	p.line("%-10s %6s %7s %10s %12s %14s %14s %8s %10s", "kind", "jobs", "failed", "seconds", "tokens read", "tokens written", "bytes written", "uses", "saved s")
	for _, a := range r.Accounts {
		p.line("%-10s %6d %7d %10.1f %12d %14d %14d %8d %10.1f", a.Kind, a.Jobs, a.Failed, a.Seconds, a.Computed, a.Generated, a.Written, a.Uses, a.Earned)
	}
	return p.err
}

func idleLedger() *cobra.Command {
	return spaceVerb("ledger", "Show what idle work cost and what it saved, in the last 30 days", func(_ context.Context, s *service, space string) (showable, error) {
		books, err := s.ledger(space, time.Time{})
		return &ledgerReport{books}, err
	})
}

// statusReport says whether idle work is done now.
type statusReport struct{ api.Idle }

func (r *statusReport) table(w io.Writer) error {
	p := &printer{w: w}
	p.line("%s", r.State)
	for _, why := range r.Reasons {
		p.line("  %s: %s", why.Code, why.Text)
	}
	if r.State == string(scheduler.Waiting) && len(r.Reasons) == 0 {
		p.line("  nothing speaks against working: percached idle run does what is due")
	}
	for _, k := range scheduler.Kinds() {
		if n := r.Jobs[string(k)]; n > 0 {
			p.line("  jobs that wait: %d %s", n, k)
		}
	}
	if r.Parked > 0 {
		p.line("  jobs that failed too often and are parked: %d; percached idle queue tells why, percached idle retry JOB tries one again", r.Parked)
	}
	p.line("budget: %v of compute, %d questions, %d MiB to write are left until %s",
		time.Duration(r.Window.Left.ComputeSeconds*float64(time.Second)).Round(time.Second), r.Window.Left.Questions, r.Window.Left.BytesWritten>>20, r.Window.End.Format(time.DateTime))
	for _, space := range slices.Sorted(maps.Keys(r.Pace)) {
		p.line("prediction in %s: %s (%s)", space, r.Pace[space].Speed, r.Pace[space].Why)
	}
	return p.err
}

func idleStatus() *cobra.Command {
	return spaceVerb("status", "Show whether idle work would be done now, and if not, why", func(_ context.Context, s *service, space string) (showable, error) {
		st, err := s.idleStatus(space)
		return &statusReport{st}, err
	})
}
