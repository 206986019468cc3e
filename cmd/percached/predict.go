package main

import (
	"context"
	"maps"
	"slices"

	"github.com/percached/percached/internal/base/cmdline"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
)

func predictCommand(dial dialer) *cobra.Command {
	return group("predict", "Look at the questions that were predicted: list, stats, run", "", predictList(dial), predictStats(dial), predictRun(dial))
}

// predictions are those of the spaces that are meant.
func (c *invocation) predictions(ctx context.Context, fn func(space string, p *client.Predictions)) error {
	return c.each(ctx, func(space string) error {
		r, err := c.ListPredictionsWithResponse(ctx, space)
		if err == nil {
			fn(space, r.JSON200)
		}
		return err
	})
}

func predictList(dial dialer) *cobra.Command {
	return verb{
		use: "list", short: "List the predicted questions, where they came from, and whether they were asked",
		example: `  percached predict list --space mail`, space: anySpace,
		run: func(ctx context.Context, c *invocation, _ []string) error {
			all := struct {
				Predictions []client.Prediction `json:"predictions"`
			}{[]client.Prediction{}}
			err := c.predictions(ctx, func(_ string, p *client.Predictions) { all.Predictions = append(all.Predictions, p.Predictions...) })
			if err != nil {
				return err
			}
			return c.showAll(all, func(p *cmdline.Printer) {
				if len(all.Predictions) == 0 {
					p.Line("nothing is predicted yet; percached predict run does so")
				}
				for _, l := range all.Predictions {
					state := "waits"
					if l.Populated {
						state = "ready"
					}
					p.Line("%-16s %-9s %s  %3d hits  %q", l.Space, l.From, state, l.Hits, l.Question)
				}
			})
		},
	}.command(dial)
}

// spaceStats are the counts of one space.
type spaceStats struct {
	Space string `json:"space"`
	client.PredictionStats
}

func predictStats(dial dialer) *cobra.Command {
	return verb{
		use: "stats", short: "Count what was predicted and what was dropped, and why",
		example: `  percached predict stats`, space: anySpace,
		run: func(ctx context.Context, c *invocation, _ []string) error {
			all := struct {
				Spaces []spaceStats `json:"spaces"`
			}{[]spaceStats{}}
			err := c.predictions(ctx, func(space string, p *client.Predictions) { all.Spaces = append(all.Spaces, spaceStats{space, p.Stats}) })
			if err != nil {
				return err
			}
			return c.showAll(all, func(p *cmdline.Printer) {
				for _, s := range all.Spaces {
					p.Line("%-16s %d summaries of %d bytes, %d unused; %d questions predicted, %d ready, %d asked", s.Space, s.Summaries, s.Bytes, s.Unused, s.Predictions, s.Populated, s.Asked)
					for _, why := range slices.Sorted(maps.Keys(s.Dropped)) {
						p.Line("%-16s %6d dropped: %s", "", s.Dropped[why], why)
					}
				}
			})
		},
	}.command(dial)
}

func predictRun(dial dialer) *cobra.Command {
	return verb{
		use: "run", short: "Sum up, predict and populate in one space, now",
		example: `  percached predict run --space mail`, space: oneSpace, keys: answerKeys(), need: need{Model: true},
		run: func(ctx context.Context, c *invocation, _ []string) error {
			return c.work(ctx, func(ctx context.Context) (*client.Drained, error) {
				r, err := c.PredictWithResponse(ctx, c.space)
				if err != nil {
					return nil, err
				}
				return r.JSON200, nil
			})
		},
	}.command(dial)
}
