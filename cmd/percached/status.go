package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

func statusCommand(dial dialer) *cobra.Command {
	var watch, budget bool
	var every time.Duration
	return apiCommand{
		use: "status", short: "Show model, stored data, hit rate and savings",
		long: `Shows the model, the stored data, the outcomes of questions since the start, and the
state of idle work. With --watch it repeats this until you interrupt it: in place on a
terminal, one report after the other elsewhere. With --json it prints one object a line.

With --budget it shows how much memory and disk space percached takes on this machine, and
why. The keys context and tensor-limit override what percached chooses.`,
		example: `  percached status --watch
  percached status --budget`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVarP(&watch, "watch", "w", false, "Repeat until interrupted")
			cmd.Flags().BoolVar(&budget, "budget", false, "Show memory and disk space instead, and why percached takes as much")
			cmd.Flags().DurationVar(&every, "every", time.Second, "Time between two reports of --watch, at least 50ms")
		},
		before: func([]string) error {
			if every < 50*time.Millisecond {
				return cmdline.Misusef("--every: %v is less than 50ms", every)
			}
			return nil
		},
		run: func(ctx context.Context, c *session, _ []string) error {
			if !watch {
				return c.status(ctx, budget, false)
			}
			again := time.NewTicker(every)
			defer again.Stop()
			for {
				if cmdline.Terminal(c.out) && !c.json {
					fmt.Fprint(c.out, "\033[H\033[J") // cursor to the top left, then clear
				}
				err := c.status(ctx, budget, true)
				if ctx.Err() != nil {
					return nil // the user interrupted it
				}
				if err != nil {
					return err
				}
				select {
				case <-again.C:
				case <-ctx.Done():
					return nil
				}
			}
		},
	}.command(dial)
}

// status prints one report, or that of the budget. more says that others follow.
func (c *session) status(ctx context.Context, budget, more bool) error {
	about, err := c.AboutWithResponse(ctx)
	if err != nil {
		return err
	}
	r, err := c.GetStatusWithResponse(ctx)
	if err != nil {
		return err
	}
	if more && c.json {
		return json.NewEncoder(c.out).Encode(json.RawMessage(r.Body))
	}
	return c.printBody(r.Body, func(p *cmdline.Printer) {
		if budget {
			printBudget(p, r.JSON200.Budget)
			return
		}
		where := "no daemon is running on this data folder"
		if c.Daemon != "" {
			where = "daemon at " + c.Daemon + ", since " + r.JSON200.Started.Local().Format(time.DateTime)
		}
		p.Line("percached %s: %s", about.JSON200.Version, where)
		if m := about.JSON200.Model; m.Name != "" {
			p.Line("model      %s (%s, context of %d tokens); embeddings by %s", m.Name, describeModel(m), m.Context, about.JSON200.Embedder.Name)
		}
		printStatus(p, r.JSON200)
	})
}

// printStatus prints counts and sizes.
func printStatus(p *cmdline.Printer, s *client.Status) {
	q, st := s.Questions, s.Stored
	all := q.AnswerHits + q.VerifiedHits + q.TensorHits + q.Misses
	p.Line("documents  %d in %d spaces, %d chunks", st.Documents, st.Spaces, st.Chunks)
	p.Line("questions  %d since the start: %d got a stored answer, %d a confirmed stored answer, %d used stored text, %d computed, %d failed", all, q.AnswerHits, q.VerifiedHits, q.TensorHits, q.Misses, q.Failed)
	if all > 0 {
		p.Line("saved      about %.1f s and %d tokens; %.0f %% of the questions reused something", q.SavedSeconds, q.ReusedTokens, 100*float64(q.AnswerHits+q.VerifiedHits+q.TensorHits)/float64(all))
	}
	p.Line("answers    %s %d questions, %d answered, %d out of date", bar(st.BankBytes, st.BankLimit), st.Entries, st.Answered, st.Stale)
	p.Line("tensors    %s %d pieces of text; %s on disk", bar(st.TensorBytes, st.TensorLimit), st.Slices, cmdline.Size(st.DiskBytes))
	p.Line("idle work  %s; %d jobs waiting, %d parked; took %.1f s and saved %.1f s in 30 days", s.Idle.State, s.Waiting.Jobs, s.Waiting.Parked, s.Idle.SpentSeconds, s.Idle.SavedSeconds)
	printEnergy(p, s)
	printPlacements(p, s)
	p.Line("waiting    %d questions, %d uploads", s.Waiting.Questions, s.Waiting.Uploads)
	printRemoteBackup(p, s.Backup)
}

// printRemoteBackup says how far backups in object storage have come, if there are any.
func printRemoteBackup(p *cmdline.Printer, b *client.StatusBackup) {
	if b == nil {
		return
	}
	text := "none since the start"
	if b.Last != nil {
		text = "everything up to " + b.Last.Local().Format(time.DateTime)
	}
	text += fmt.Sprintf(" (lag %.0f s) in %s", b.LagSeconds, b.To)
	if e := deref(b.Error); e != "" {
		text += "; the last attempt failed: " + e
	}
	p.Line("backup     %s", text)
}

// printEnergy prints what is known of energy, and says what is not.
func printEnergy(p *cmdline.Printer, s *client.Status) {
	e := s.Energy
	var parts []string
	if e.QuestionJoules != nil {
		parts = append(parts, fmt.Sprintf("%.1f J a question (%d measured)", *e.QuestionJoules, e.Questions))
	}
	if e.IdleJoules != nil {
		parts = append(parts, fmt.Sprintf("idle work %.0f J in 30 days", *e.IdleJoules))
		if e.IdleJoulesToday != nil {
			parts[len(parts)-1] += fmt.Sprintf(", %.0f J today", *e.IdleJoulesToday)
		}
		if e.SavedJoules != nil {
			parts = append(parts, fmt.Sprintf("about %.0f J saved", *e.SavedJoules))
		}
	}
	if e.Source == client.StatusEnergySourceUnknown {
		parts = append(parts, "unknown now: "+e.Why)
	} else {
		parts = append(parts, "from "+e.Why)
	}
	p.Line("energy     %s", strings.Join(parts, "; "))
}

// bar draws how full something is.
func bar(n, limit int64) string {
	const width = 20
	full := 0
	if limit > 0 {
		full = int(min(width, (n*width+limit-1)/limit))
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "] " + cmdline.Size(n) + " of " + cmdline.Size(limit) + ","
}

// describeModel says how large a model is, and where it computes.
func describeModel(m client.AboutModel) string {
	switch {
	case m.Server == nil:
		return fmt.Sprintf("%.1f M parameters, K/V %s", float64(m.Parameters)/1e6, m.KeyType)
	case m.Parameters == 0:
		return "on " + *m.Server
	}
	return fmt.Sprintf("%.1f M parameters, on %s", float64(m.Parameters)/1e6, *m.Server)
}
