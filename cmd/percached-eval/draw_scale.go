package main

import (
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/internal/base/fault"
)

func drawScaleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scale FILE",
		Short: "Draw how time, memory and disk grow",
		Long: `Draws the file of bench scale --out: two panels for each curve, time and memory, and
panels for rates. Both axes are logarithmic, so a line that rises as steeply as the grid's
diagonal grows in proportion. A vertical line goes up to the slowest hundredth.`,
		Example: `  percached-eval draw scale scale.json --dark`,
		Args:    cobra.ExactArgs(1),
	}
	return drawing(cmd, func(paths []string) (*eval.Figure, error) {
		points, err := readScale(paths[0])
		if err != nil {
			return nil, err
		}
		if len(points) == 0 {
			return nil, fault.New(fault.Invalid, "draw", "%s has no points: bench scale stores them with --out", paths[0])
		}
		r := &scaleReport{points}
		r.sort()
		return r.figure(), nil
	})
}

// figure has the panels of each curve that has points.
func (r *scaleReport) figure() *eval.Figure {
	f := &eval.Figure{Title: "What grows with chunks, stored answers, spaces, clients and questions", Columns: 2}
	var rates []eval.Panel
	for _, c := range scaleCurves() {
		for _, unit := range []string{"_ms", "_bytes", "_per_s"} {
			p := r.panel(c, unit)
			switch {
			case len(p.Series) == 0:
			case unit == "_per_s":
				rates = append(rates, p)
			default:
				f.Panels = append(f.Panels, p)
			}
		}
	}
	f.Panels = append(f.Panels, rates...)
	return f
}

// panel has the values of a curve that have a unit.
func (r *scaleReport) panel(c *scaleCurve, unit string) eval.Panel {
	p := eval.Panel{
		Title: map[string]string{"_ms": "time", "_bytes": "memory and disk", "_per_s": "rate"}[unit] + " by " + c.name, XLabel: c.name, Kind: eval.Lines,
		YLabel: map[string]string{"_ms": "ms", "_bytes": "MiB", "_per_s": "1/s"}[unit], Logarithmic: true,
	}
	scale := 1.0
	if unit == "_bytes" {
		scale = 1 << 20
	}
	for _, column := range c.columns {
		if column.series == "" || !strings.HasSuffix(column.value, unit) {
			continue
		}
		s := eval.Series{Name: column.series, Colour: scaleColour(column.series)}
		slowest, hasSlowest := strings.CutSuffix(column.value, "_median_ms")
		for _, point := range r.Points {
			v, ok := point.Values[column.value]
			if point.Of != c.name || !ok || v <= 0 {
				continue
			}
			s.X, s.Y = append(s.X, float64(point.N)), append(s.Y, v/scale)
			low, high := math.NaN(), math.NaN()
			if top, ok := point.Values[slowest+"_p99_ms"]; hasSlowest && ok && top >= v {
				low, high = v, top
			}
			s.Low, s.High = append(s.Low, low), append(s.High, high)
		}
		if len(s.X) > 0 {
			p.Series = append(p.Series, s)
		}
	}
	return p
}

// scaleColour is the number of a colour, the same in all panels.
func scaleColour(series string) int {
	var names []string
	for _, c := range scaleCurves() {
		for _, column := range c.columns {
			if column.series == series {
				return len(names) + 1
			}
			if column.series != "" && !slices.Contains(names, column.series) {
				names = append(names, column.series)
			}
		}
	}
	return 0
}
