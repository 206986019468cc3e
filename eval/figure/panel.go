package figure

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// plot makes axes and puts on them what the panel has.
func (p *Panel) plot() *plot.Plot {
	to := plot.New()
	to.BackgroundColor = rgb(0xFFFFFF)
	for _, a := range []*plot.Axis{&to.X, &to.Y} {
		xAlign, yAlign := a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Tick.Label = style(7, ink)
		a.Tick.Label.XAlign, a.Tick.Label.YAlign = xAlign, yAlign
		xAlign, yAlign = a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign
		a.Label.TextStyle = style(7.5, ink)
		a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign = xAlign, yAlign
		a.Label.Padding = 2
		a.LineStyle.Color, a.Tick.LineStyle.Color = rgb(faint), rgb(faint)
		a.LineStyle.Width, a.Tick.LineStyle.Width = 0.5, 0.5
		a.Tick.Length, a.Padding = 3, 0
		a.Tick.Marker = round{}
	}
	to.X.Label.Text, to.Y.Label.Text = clean(p.XLabel), clean(p.YLabel)
	switch p.Kind {
	case Grouped, Stacked:
		p.bars(to)
	case Heat:
		p.heat(to)
	default:
		p.lines(to)
	}
	return to
}

// grid draws faint lines at the ticks of one axis or both.
func grid(to *plot.Plot, x, y bool) {
	g := plotter.NewGrid()
	if g.Vertical = (draw.LineStyle{}); x {
		g.Vertical = draw.LineStyle{Color: rgb(rule), Width: 0.4}
	}
	if g.Horizontal = (draw.LineStyle{}); y {
		g.Horizontal = draw.LineStyle{Color: rgb(rule), Width: 0.4}
	}
	to.Add(g)
}

// places sets an axis with a name at each whole number, as many as there is room for.
func places(a *plot.Axis, labels []string, most int) {
	a.Min, a.Max = -0.5, float64(len(labels))-0.5
	every := 1
	for _, n := range []int{1, 2, 5, 10, 20, 50, 100, 200, 500} {
		if every = n; len(labels)/n <= most {
			break
		}
	}
	var ticks []plot.Tick
	for i, l := range labels {
		if i == 0 && every != 2 || (i+1)%every == 0 {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: short(l, 40)})
		}
	}
	a.Tick.Marker = plot.ConstantTicks(ticks)
	a.Tick.LineStyle.Width = 0
}

// extent is the least and the greatest of values that are there.
func extent(lists ...[]float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, l := range lists {
		for _, v := range l {
			if !math.IsNaN(v) {
				low, high = math.Min(low, v), math.Max(high, v)
			}
		}
	}
	if low > high {
		return 0, 1
	}
	return low, high
}
