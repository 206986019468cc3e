package figure

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	fill      = 0.78 // of a place is bar, the rest is between bars
	mostEdged = 24   // places: bars of more are so narrow that an edge hides them
)

// bars sets the axes for bars, and adds them.
func (p *Panel) bars(to *plot.Plot) {
	top := p.Top
	if top == 0 {
		top = p.reach()
	}
	if p.Horizontal {
		to.X.Min, to.X.Max = 0, top
		labels := slices.Clone(p.Labels)
		slices.Reverse(labels)
		places(&to.Y, labels, len(labels))
		grid(to, true, false)
	} else {
		to.Y.Min, to.Y.Max = 0, top
		places(&to.X, p.Labels, 24)
		grid(to, false, true)
	}
	to.Add(bars{p})
}

// reach is how far the axis of values has to go.
func (p *Panel) reach() float64 {
	top := p.highest() * 1.04
	if p.Numbers && p.Horizontal {
		top *= 1.16 // they stand at the ends
	}
	if top == 0 {
		return 1
	}
	return top
}

// level gives panels of bars the same scale.
func level(panels []Panel) {
	top := 0.0
	for i := range panels {
		top = max(top, panels[i].reach())
	}
	for i := range panels {
		panels[i].Top = top
	}
}

// highest is where the longest bar or whisker ends.
func (p *Panel) highest() (top float64) {
	for i := range p.Labels {
		sum := 0.0
		for _, s := range p.Series {
			v := s.at(s.Y, i)
			if p.Kind == Stacked && !s.Mark {
				sum += v
				v = sum
			}
			top = max(top, v, s.at(s.High, i))
		}
	}
	return top
}

// at is a value, 0 where there is none.
func (s Series) at(of []float64, i int) float64 {
	if i >= len(of) || math.IsNaN(of[i]) {
		return 0
	}
	return of[i]
}

// has says whether a series has a value at a place.
func (s Series) has(i int) bool { return i < len(s.Y) && !math.IsNaN(s.Y[i]) }

// bars draws those of a panel.
type bars struct{ *Panel }

// Plot is gonum's way of asking for it.
func (b bars) Plot(c draw.Canvas, to *plot.Plot) {
	x, y := to.Transforms(&c)
	at := func(place, value float64) vg.Point {
		if b.Horizontal {
			return vg.Point{X: x(value), Y: y(float64(len(b.Labels)-1) - place)}
		}
		return vg.Point{X: x(place), Y: y(value)}
	}
	for i := range b.Labels {
		if b.Kind == Stacked {
			b.stack(&c, at, i)
		} else {
			b.group(&c, at, i)
		}
	}
}

// stack draws the bar at a place.
func (b bars) stack(c *draw.Canvas, at func(place, value float64) vg.Point, i int) {
	place, sum := float64(i), 0.0
	for _, s := range b.Series {
		if v := s.at(s.Y, i); v > 0 && !s.Mark {
			b.slab(c, s.Colour, at(place-fill/2, sum), at(place+fill/2, sum+v))
			sum += v
		}
	}
	for _, s := range b.Series {
		if s.Mark && s.has(i) {
			c.StrokeLines(draw.LineStyle{Color: s.Colour, Width: 1.5}, []vg.Point{at(place-0.48, s.Y[i]), at(place+0.48, s.Y[i])})
		}
	}
	if b.Numbers && sum > 0 {
		b.number(c, at(place, sum), sum)
	}
}

// group draws the bars at a place.
func (b bars) group(c *draw.Canvas, at func(place, value float64) vg.Point, i int) {
	each := fill / float64(len(b.Series))
	for j, s := range b.Series {
		if !s.has(i) {
			continue
		}
		start := float64(i) - fill/2 + float64(j)*each
		in := s.Colour
		if i < len(b.Colours) {
			in = b.Colours[i]
		}
		b.slab(c, in, at(start, 0), at(start+each, s.Y[i]))
		end := s.Y[i]
		if i < len(s.Low) && i < len(s.High) && !math.IsNaN(s.Low[i]) {
			whisker := draw.LineStyle{Color: rgb(ink), Width: 0.8}
			mid, cap := start+each/2, min(0.1, each/4)
			c.StrokeLines(whisker, []vg.Point{at(mid, s.Low[i]), at(mid, s.High[i])},
				[]vg.Point{at(mid-cap, s.Low[i]), at(mid+cap, s.Low[i])}, []vg.Point{at(mid-cap, s.High[i]), at(mid+cap, s.High[i])})
			end = max(end, s.High[i])
		}
		if b.Numbers {
			b.number(c, at(start+each/2, end), s.Y[i])
		}
	}
}

// number writes a value where a bar ends.
func (b bars) number(c *draw.Canvas, end vg.Point, v float64) {
	s := style(6.5, ink)
	if b.Horizontal {
		s.YAlign = text.YCenter
		end.X += 3
	} else {
		s.XAlign = text.XCenter
		end.Y += 2
	}
	c.FillText(s, end, number(v))
}

// slab is a part of a bar, whichever way it runs.
func (b bars) slab(c *draw.Canvas, in color.Color, from, to vg.Point) {
	low, high := vg.Point{X: min(from.X, to.X), Y: min(from.Y, to.Y)}, vg.Point{X: max(from.X, to.X), Y: max(from.Y, to.Y)}
	switch {
	case low.X == high.X || low.Y == high.Y:
	case len(b.Labels) > mostEdged:
		c.FillPolygon(in, []vg.Point{low, {X: high.X, Y: low.Y}, high, {X: low.X, Y: high.Y}})
	default:
		box(c, in, low, high)
	}
}
