package figure

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const fewPoints = 24 // of a line get a dot each

// lines sets the axes for lines and points, and adds them.
func (p *Panel) lines(to *plot.Plot) {
	var xs, ys [][]float64
	for i := range p.Series {
		s := &p.Series[i]
		if p.Kind == Cumulative {
			xs = append(xs, s.Y)
			continue
		}
		xs, ys = append(xs, s.X), append(ys, s.Y, s.High)
	}
	to.X.Min, to.X.Max = extent(xs...)
	_, to.Y.Max = extent(ys...)
	to.Y.Min, to.Y.Max = 0, to.Y.Max*1.06
	if p.Kind == Cumulative {
		to.Y.Min, to.Y.Max = 0, 1
	}
	if p.Top > 0 {
		to.Y.Max = p.Top
	}
	if to.Y.Max <= to.Y.Min {
		to.Y.Max = to.Y.Min + 1
	}
	pad := (to.X.Max - to.X.Min) * 0.03
	if pad == 0 {
		pad = 0.5
	}
	to.X.Min, to.X.Max = to.X.Min-pad, to.X.Max+pad
	if len(p.Labels) > 0 {
		var ticks []plot.Tick
		for i, l := range p.Labels {
			ticks = append(ticks, plot.Tick{Value: p.Ticks[i], Label: l})
		}
		to.X.Tick.Marker = plot.ConstantTicks(ticks)
	}
	grid(to, true, true)
	to.Add(lines{p})
}

// lines draws those of a panel.
type lines struct{ *Panel }

// Plot is gonum's way of asking for it.
func (l lines) Plot(c draw.Canvas, to *plot.Plot) {
	x, y := to.Transforms(&c)
	at := func(a, b float64) vg.Point { return vg.Point{X: x(a), Y: y(b)} }
	for _, s := range l.Series {
		switch l.Kind {
		case Cumulative:
			c.StrokeLines(s.stroke(), steps(s.Y, at, to.X.Min, to.X.Max))
		case Points:
			for i := range s.Y {
				if s.has(i) {
					c.DrawGlyph(dot(s.Colour), at(s.X[i], s.Y[i]))
				}
			}
		default:
			l.line(&c, s, at)
		}
	}
}

// line draws one, with a gap where there is no value.
func (l lines) line(c *draw.Canvas, s Series, at func(x, y float64) vg.Point) {
	var part []vg.Point
	for i := range s.Y {
		if !s.has(i) {
			c.StrokeLines(s.stroke(), part)
			part = nil
			continue
		}
		end := at(s.X[i], s.Y[i])
		part = append(part, end)
		if len(s.Y) <= fewPoints {
			c.DrawGlyphNoClip(dot(s.Colour), end)
		}
		if i < len(s.Low) && i < len(s.High) && !math.IsNaN(s.Low[i]) {
			low, high := at(s.X[i], s.Low[i]), at(s.X[i], s.High[i])
			thin := draw.LineStyle{Color: s.Colour, Width: 0.7}
			c.StrokeLine2(thin, low.X, low.Y, high.X, high.Y)
			c.StrokeLine2(thin, low.X-2, low.Y, low.X+2, low.Y)
			c.StrokeLine2(thin, high.X-2, high.Y, high.X+2, high.Y)
		}
	}
	c.StrokeLines(s.stroke(), part)
}

// steps climb by one n-th at each of n values.
func steps(values []float64, at func(x, y float64) vg.Point, from, to float64) []vg.Point {
	sorted := slices.Sorted(slices.Values(values))
	path := []vg.Point{at(from, 0)}
	n := float64(len(sorted))
	for i, v := range sorted {
		path = append(path, at(v, float64(i)/n), at(v, float64(i+1)/n))
	}
	if len(sorted) > 0 {
		path = append(path, at(to, 1))
	}
	return path
}
