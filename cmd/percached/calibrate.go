package main

import (
	"context"
	"time"

	"github.com/percached/percached/internal/base/cmdline"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
)

func calibrateCommand(dial dialer) *cobra.Command {
	var again bool
	return verb{
		use: "calibrate", short: "Measure whether the model answers as well from chunks side by side",
		long: `Answers 24 to 96 questions over your documents twice, with the chunks of the prompt
side by side and one after the other, and compares both with what the documents say.
Chunks that stand side by side are reused in any order, so that answers begin sooner;
some models answer worse from them. They are used where F1 is, with 90 % confidence,
at most 10 % lower. The questions are sentences of the documents with a gap in the
place of a name, a date or a number, first of those that questions were answered from.
Nothing is measured over fewer than 32 chunks, or for the built-in model.

Idle work does the same by itself, once for each model, prompt and kind of documents.
The command goes on where it stands; with --again it begins anew. percached status
tells the result, and the key placement overrides it.`,
		example: `  percached calibrate
  percached calibrate --space mail --again`, space: anySpace, keys: answerKeys(), need: need{Model: true},
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&again, "again", false, "forget what was measured, for all spaces, and measure anew")
		},
		run: func(ctx context.Context, c *invocation, _ []string) error {
			if again {
				if _, err := c.ForgetPlacementsWithResponse(ctx); err != nil {
					return err
				}
			}
			do := c.draining(client.DrainIdleParams{Space: optional(c.space), Kind: []client.JobKind{client.JobKindCalibrate}})
			if err := c.work(ctx, do); err != nil || c.json {
				return err
			}
			r, err := c.GetStatusWithResponse(ctx)
			if err != nil {
				return err
			}
			p := &cmdline.Printer{W: c.out}
			placements(p, r.JSON200)
			return p.Err
		},
	}.command(dial)
}

// placements tells how chunks are placed, and why.
func placements(p *cmdline.Printer, s *client.Status) {
	for _, of := range s.Placements {
		when := ""
		if of.Decided != nil {
			when = " (" + of.Decided.Local().Format(time.DateOnly) + ")"
		}
		p.Line("chunks     %s over %s: %s%s", of.Placement, of.Kind, of.Why, when)
	}
}
