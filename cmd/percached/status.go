package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/cmdline"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
)

func statusCommand(dial dialer) *cobra.Command {
	var watch bool
	var every time.Duration
	return verb{
		use: "status", short: "Show what the cache holds, does and has saved",
		long: `Shows what answers, what is stored, what questions came to since it was started,
and what idle work does. With --watch it does so again and again, until it is
interrupted: on a terminal in place, elsewhere one report behind the other (with
--json, an object a line).`,
		example: `  percached status --watch`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on showing it, until interrupted")
			cmd.Flags().DurationVar(&every, "every", time.Second, "how often, with --watch")
		},
		before: func([]string) error {
			if every < 50*time.Millisecond {
				return cmdline.Misusef("--every: %v is less than 50ms", every)
			}
			return nil
		},
		run: func(ctx context.Context, c *invocation, _ []string) error {
			if !watch {
				return c.status(ctx, false)
			}
			again := time.NewTicker(every)
			defer again.Stop()
			for {
				if cmdline.Terminal(c.out) && !c.json {
					fmt.Fprint(c.out, "\033[H\033[J") // home, and nothing below
				}
				err := c.status(ctx, true)
				if ctx.Err() != nil {
					return nil // this is how it ends
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

// status shows how things stand, once, or once more.
func (c *invocation) status(ctx context.Context, more bool) error {
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
	return c.show(r.Body, func(p *cmdline.Printer) {
		where := "no daemon runs on this data folder"
		if c.Daemon != "" {
			where = "daemon at " + c.Daemon + ", since " + r.JSON200.Started.Local().Format(time.DateTime)
		}
		p.Line("percached %s: %s", about.JSON200.Version, where)
		if m := about.JSON200.Model; m.Name != "" {
			p.Line("model      %s (%.1f M parameters, K/V %s, context of %d tokens); embeddings by %s", m.Name, float64(m.Parameters)/1e6, m.KeyType, m.Context, about.JSON200.Embedder.Name)
		}
		standing(p, r.JSON200)
	})
}

// standing tells how things stand.
func standing(p *cmdline.Printer, s *client.Status) {
	q, st := s.Questions, s.Stored
	all := q.AnswerHits + q.TensorHits + q.Misses
	p.Line("documents  %d in %d spaces, %d chunks", st.Documents, st.Spaces, st.Chunks)
	p.Line("questions  %d since the start: %d from the QA bank, %d with stored tensors, %d computed, %d failed", all, q.AnswerHits, q.TensorHits, q.Misses, q.Failed)
	if all > 0 {
		p.Line("saved      %.1f s of waiting, about; %d tokens not computed; hit rate %.0f %%", q.SavedSeconds, q.ReusedTokens, 100*float64(q.AnswerHits+q.TensorHits)/float64(all))
	}
	p.Line("QA bank    %s %d entries, %d answered, %d stale", gauge(st.BankBytes, st.BankLimit), st.Entries, st.Answered, st.Stale)
	p.Line("tensors    %s %d slices; %s on disk", gauge(st.TensorBytes, st.TensorLimit), st.Slices, cmdline.Size(st.DiskBytes))
	p.Line("idle work  %s; %d jobs wait, %d are parked; in 30 days it took %.1f s and saved %.1f s", s.Idle.State, s.Waiting.Jobs, s.Waiting.Parked, s.Idle.SpentSeconds, s.Idle.SavedSeconds)
	placements(p, s)
	p.Line("waiting    %d questions, %d uploads", s.Waiting.Questions, s.Waiting.Uploads)
}

// gauge shows how full something is.
func gauge(n, limit int64) string {
	const width = 20
	full := 0
	if limit > 0 {
		full = int(min(width, (n*width+limit-1)/limit))
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "] " + cmdline.Size(n) + " of " + cmdline.Size(limit) + ","
}
