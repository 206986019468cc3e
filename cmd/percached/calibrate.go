package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

func calibrateCommand(dial dialer) *cobra.Command {
	var again bool
	return apiCommand{
		use: "calibrate", short: "Measure which placement of chunks suits the model",
		long: `Answers 24 to 96 questions over your documents in both placements of chunks, parallel
and sequential, and compares the answers with the documents. Parallel chunks can be
reused in any order, so answers start sooner, but some models answer worse from them.
percached uses parallel placement if its F1 is at most 10 % lower, with 90 %
confidence. The questions are sentences of the documents in which a name, a date or a
number is blanked out.

A calibration needs at least 32 chunks. The built-in model needs none. Idle work
calibrates once for each model, prompt and kind of documents. This command continues
an unfinished calibration. percached status shows the result; the key placement
overrides it.`,
		example: `  percached calibrate
  percached calibrate --space mail --again`, space: allSpacesFlag, keys: answerKeys(), need: need{Model: true},
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&again, "again", false, "Discard the measurements of all spaces and start again")
		},
		run: func(ctx context.Context, c *session, _ []string) error {
			if again {
				if _, err := c.ForgetPlacementsWithResponse(ctx); err != nil {
					return err
				}
			}
			do := c.drain(client.DrainIdleParams{Space: optional(c.space), Kind: []client.JobKind{client.JobKindCalibrate}})
			if err := c.runIdleWork(ctx, do); err != nil || c.json {
				return err
			}
			r, err := c.GetStatusWithResponse(ctx)
			if err != nil {
				return err
			}
			p := &cmdline.Printer{W: c.out}
			printPlacements(p, r.JSON200)
			return p.Err
		},
	}.command(dial)
}

// printPlacements prints the placement of chunks for each kind, and why.
func printPlacements(p *cmdline.Printer, s *client.Status) {
	for _, of := range s.Placements {
		when := ""
		if of.Decided != nil {
			when = " (" + of.Decided.Local().Format(time.DateOnly) + ")"
		}
		p.Line("chunks     %s over %s: %s%s", of.Placement, of.Kind, of.Why, when)
		for _, f := range of.Forms {
			p.Line("tensors    %s over %s: %s; %d of %d answers equal, loss %.4f nats", f.Form, of.Kind, f.State, f.Same, f.Questions, f.Nats)
		}
	}
}
