package main

import (
	"context"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api"
)

func predictCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "predict", Short: "Look at the questions that were predicted", Args: cobra.NoArgs, RunE: help}
	cmd.AddCommand(
		spaceVerb("list", "List the predicted questions, where they came from, and whether they were asked", predictions),
		spaceVerb("stats", "Count what was predicted and what was dropped, and why", predictionStats),
	)
	return cmd
}

type predictionsReport struct {
	Predictions []api.Prediction `json:"predictions"`
}

func (r *predictionsReport) table(w io.Writer) error {
	p := &printer{w: w}
	if len(r.Predictions) == 0 {
		p.line("nothing is predicted yet; percached idle run does so")
	}
	for _, l := range r.Predictions {
		state := "waits"
		if l.Populated {
			state = "ready"
		}
		p.line("%-16s %-9s %s  %3d hits  %q", l.Space, l.From, state, l.Hits, l.Question)
	}
	return p.err
}

func predictions(_ context.Context, s *service, space string) (showable, error) {
	r := &predictionsReport{Predictions: []api.Prediction{}}
	err := s.eachSpace(space, func(name string) error {
		found, err := s.predictions(name)
		r.Predictions = append(r.Predictions, found.Predictions...)
		return err
	})
	return r, err
}

type predictionCounts struct {
	Space string `json:"space"`
	api.PredictionStats
}

type predictionStatsReport struct {
	Spaces []predictionCounts `json:"spaces"`
}

func (r *predictionStatsReport) table(w io.Writer) error {
	p := &printer{w: w}
	for _, s := range r.Spaces {
		p.line("%-16s %d summaries of %d bytes, %d unused; %d questions predicted, %d ready, %d asked", s.Space, s.Summaries, s.Bytes, s.Unused, s.Predictions, s.Populated, s.Asked)
		for _, why := range slices.Sorted(maps.Keys(s.Dropped)) {
			p.line("%-16s %6d dropped: %s", "", s.Dropped[why], why)
		}
	}
	return p.err
}

func predictionStats(_ context.Context, s *service, space string) (showable, error) {
	r := &predictionStatsReport{Spaces: []predictionCounts{}}
	err := s.eachSpace(space, func(name string) error {
		st, err := s.predictor.Stats(name)
		r.Spaces = append(r.Spaces, predictionCounts{name, wirePredictionStats(st)})
		return err
	})
	return r, err
}
