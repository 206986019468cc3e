package main

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

func predictCommand(dial dialer) *cobra.Command {
	return group("predict", "Show predicted questions, or predict now", "", predictList(dial), predictStats(dial), predictRun(dial))
}

// predictions calls fn with the predictions of the named space, or of every space.
func (c *session) predictions(ctx context.Context, fn func(space string, p *client.Predictions)) error {
	return c.eachSpace(ctx, func(space string) error {
		r, err := c.ListPredictionsWithResponse(ctx, space)
		if err == nil {
			fn(space, r.JSON200)
		}
		return err
	})
}

func predictList(dial dialer) *cobra.Command {
	return apiCommand{
		use: "list", short: "List predicted questions with their source, state and hits",
		example: `  percached predict list --space mail`, space: allSpacesFlag,
		run: func(ctx context.Context, c *session, _ []string) error {
			all := struct {
				Predictions []client.Prediction `json:"predictions"`
			}{[]client.Prediction{}}
			err := c.predictions(ctx, func(_ string, p *client.Predictions) { all.Predictions = append(all.Predictions, p.Predictions...) })
			if err != nil {
				return err
			}
			return c.printJSON(all, func(p *cmdline.Printer) {
				if len(all.Predictions) == 0 {
					p.Line("no questions are predicted yet; percached predict run predicts some")
				}
				for _, l := range all.Predictions {
					state := "waiting"
					if l.Populated {
						state = "ready"
					}
					p.Line("%-16s %-9s %-7s  %3d hits  %q", l.Space, l.From, state, l.Hits, l.Question)
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
	return apiCommand{
		use: "stats", short: "Count predicted and dropped questions",
		example: `  percached predict stats`, space: allSpacesFlag,
		run: func(ctx context.Context, c *session, _ []string) error {
			all := struct {
				Spaces []spaceStats `json:"spaces"`
			}{[]spaceStats{}}
			err := c.predictions(ctx, func(space string, p *client.Predictions) { all.Spaces = append(all.Spaces, spaceStats{space, p.Stats}) })
			if err != nil {
				return err
			}
			return c.printJSON(all, func(p *cmdline.Printer) {
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
	return apiCommand{
		use: "run", short: "Predict and answer questions of one space now",
		example: `  percached predict run --space mail`, space: oneSpaceFlag, keys: answerKeys(), need: need{Model: true},
		run: func(ctx context.Context, c *session, _ []string) error {
			return c.runIdleWork(ctx, func(ctx context.Context) (*client.Drained, error) {
				r, err := c.PredictWithResponse(ctx, c.space)
				if err != nil {
					return nil, err
				}
				return r.JSON200, nil
			})
		},
	}.command(dial)
}
