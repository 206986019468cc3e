package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/figure"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/commands"
)

func drawCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "draw",
		Short: "Draw what a measurement printed with --json, as SVG",
		Args:  cobra.NoArgs,
		RunE:  commands.Help,
	}
	cmd.AddCommand(drawConversationCommand(), drawMemoryCommand(), drawScaleCommand())
	return cmd
}

// drawing makes a command that draws a figure of files.
func drawing(cmd *cobra.Command, figureOf func(paths []string) (*eval.Figure, error)) *cobra.Command {
	var dark bool
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		f, err := figureOf(paths)
		if err != nil {
			return err
		}
		colours := figure.Light()
		if dark {
			colours = figure.Dark()
		}
		return figure.Draw(cmd.OutOrStdout(), f, "svg", colours)
	}
	cmd.Flags().BoolVar(&dark, "dark", false, "For a dark page")
	return cmd
}

func drawConversationCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "conversation REPORT...",
		Short:   "Draw how long the first token takes in a growing conversation",
		Long:    "Draws one panel for each report of bench conversation, titled by the file's name.",
		Example: `  percached-eval draw conversation SmolLM2.json Gemma.json --dark`,
		Args:    cobra.MinimumNArgs(1),
	}
	return drawing(cmd, func(paths []string) (*eval.Figure, error) {
		f := &eval.Figure{Title: "A question in a growing conversation: time to the first token", Columns: min(2, len(paths))}
		for _, path := range paths {
			p, err := conversationPanel(path)
			if err != nil {
				return nil, err
			}
			f.Panels = append(f.Panels, p)
		}
		return f, nil
	})
}

func conversationPanel(path string) (eval.Panel, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return eval.Panel{}, fault.New(fault.NotFound, "draw", "%w", err)
	}
	var r talkReport
	if err := json.Unmarshal(b, &r); err != nil || len(r.Points) == 0 {
		return eval.Panel{}, fault.New(fault.Invalid, "draw", "%s is not what bench conversation prints with --json", path)
	}
	stored := eval.Series{Name: "percached"}
	whole := eval.Series{Name: "all turns"}
	for _, t := range r.Points {
		stored.X, stored.Y = append(stored.X, float64(t.Exchanges)), append(stored.Y, t.FirstMS/1000)
		full := t.FullMS / 1000
		if full == 0 { // it does not fit
			full = math.NaN()
		}
		whole.X, whole.Y = append(whole.X, float64(t.Exchanges)), append(whole.Y, full)
	}
	return eval.Panel{
		Title: strings.TrimSuffix(filepath.Base(path), ".json"), XLabel: "exchanges so far", YLabel: "s", Kind: eval.Lines,
		Series: []eval.Series{stored, whole},
	}, nil
}

func drawMemoryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "memory REPORT",
		Short:   "Draw how the memory is divided while it gets scarce and plentiful again",
		Long:    "Draws what bench memory printed.",
		Example: `  percached-eval draw memory memory.json --dark`,
		Args:    cobra.ExactArgs(1),
	}
	return drawing(cmd, func(paths []string) (*eval.Figure, error) {
		panel, err := memoryPanel(paths[0])
		return &eval.Figure{Title: "What the memory is used for", Columns: 1, Panels: []eval.Panel{panel}}, err
	})
}

func memoryPanel(path string) (eval.Panel, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return eval.Panel{}, fault.New(fault.NotFound, "draw", "%w", err)
	}
	var r memoryReport
	if err := json.Unmarshal(b, &r); err != nil || len(r.Points) == 0 {
		return eval.Panel{}, fault.New(fault.Invalid, "draw", "%s is not what bench memory prints with --json", path)
	}
	p := eval.Panel{Title: r.Model, XLabel: "minutes", YLabel: "MiB", Kind: eval.Lines}
	for _, of := range []struct {
		name  string
		value func(memoryPoint) int64
	}{
		{"may be used", func(t memoryPoint) int64 { return t.Limit }},
		{"context", func(t memoryPoint) int64 { return t.Context }},
		{"slices", func(t memoryPoint) int64 { return t.Slices }},
		{"typed texts", func(t memoryPoint) int64 { return t.Typed }},
		{"mapped files", func(t memoryPoint) int64 { return t.Mapped }},
	} {
		s := eval.Series{Name: of.name}
		for _, t := range r.Points {
			s.X, s.Y = append(s.X, t.Minutes), append(s.Y, float64(of.value(t))/(1<<20))
		}
		p.Series = append(p.Series, s)
	}
	return p, nil
}
