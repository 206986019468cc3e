package figure

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/percached/percached/eval"
)

// panel makes the axes of a panel and plots its series.
func (in Palette) panel(p *eval.Panel) *plot.Plot {
	to := plot.New()
	to.BackgroundColor = in.Background
	to.Title.Text, to.X.Label.Text, to.Y.Label.Text = p.Title, p.XLabel, p.YLabel
	in.style(&to.Title.TextStyle, 10)
	for _, a := range []*plot.Axis{&to.X, &to.Y} {
		in.style(&a.Label.TextStyle, 9)
		in.style(&a.Tick.Label, 8.5)
		a.Color, a.Tick.Color = in.Ink, in.Ink
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = in.Grid, in.Grid
	to.Add(grid)
	switch p.Kind {
	case eval.Bars, eval.Stacked:
		in.bars(to, p)
	case eval.Heat:
		shades := moreland.Kindlmann()
		shades.SetMax(1)
		picture := plotter.NewHeatMap(cells(p.Cells), shades.Palette(32))
		picture.Min, picture.Max, picture.Rasterized = 0, 1.2, true // the end of the palette is white
		to.Add(picture)
	default:
		in.lines(to, p)
	}
	return to
}

// height is the height of a panel with its axes.
func height(p *eval.Panel) vg.Length {
	bars := len(p.Series)
	if p.Kind == eval.Stacked {
		bars = 1
	}
	if !p.Horizontal {
		return 200
	}
	return 60 + vg.Length(len(p.Labels)*(8+9*bars))
}

// bars plots bars with their intervals. Horizontal bars also show their values.
func (in Palette) bars(to *plot.Plot, p *eval.Panel) {
	places, values := &to.X, &to.Y
	at := func(place, value float64) plotter.XY { return plotter.XY{X: place, Y: value} }
	if last := float64(len(p.Labels) - 1); p.Horizontal {
		places, values = values, places
		at = func(place, value float64) plotter.XY { return plotter.XY{X: value, Y: last - place} }
	}
	style := to.X.Tick.Label
	style.Font.Size, style.XAlign, style.YAlign = 7.5, text.XLeft, text.YCenter
	numbers := &plotter.Labels{Offset: vg.Point{X: 3}}
	var ticks plot.ConstantTicks
	// Bars of one colour are one polygon, and intervals come last: that makes files small.
	var polygons []*plotter.Polygon
	var intervals []plotter.XYs
	edge := draw.LineStyle{Color: in.Ink, Width: 0.2}
	if !p.Horizontal {
		edge.Width = 0
	}
	bar := func(c color.Color, corners plotter.XYs) {
		i := slices.IndexFunc(polygons, func(g *plotter.Polygon) bool { return g.Color == c })
		if i < 0 {
			i, polygons = len(polygons), append(polygons, &plotter.Polygon{Color: c, LineStyle: edge})
		}
		polygons[i].XYs = append(polygons[i].XYs, corners)
	}
	for i, label := range p.Labels {
		sum := 0.0
		for j, s := range p.Series {
			v, ok := s.Value(i)
			if !ok {
				continue
			}
			size, base := 0.78/float64(len(p.Series)), 0.0
			start := float64(i) - 0.39 + size*float64(j)
			if p.Kind == eval.Stacked {
				size, base, start = 0.78, sum, float64(i)-0.39
			}
			middle := start + size/2
			sum = base + v
			if v > 0 {
				bar(in.colour(cmp.Or(s.Name, label), j), plotter.XYs{at(start, base), at(start, sum), at(start+size, sum), at(start+size, base)})
			}
			low, high, ok := s.Interval(i)
			if ok {
				intervals = append(intervals, plotter.XYs{at(middle, low), at(middle, high)})
			}
			if p.Horizontal && (p.Kind == eval.Bars || j == len(p.Series)-1) {
				numbers.XYs = append(numbers.XYs, at(middle, max(sum, high)))
				numbers.Labels, numbers.TextStyle = append(numbers.Labels, number(sum)), append(numbers.TextStyle, style)
			}
		}
		if (i+1)%max(1, len(p.Labels)/20) == 0 {
			ticks = append(ticks, plot.Tick{Value: at(float64(i), 0).X + at(float64(i), 0).Y, Label: label})
		}
	}
	for _, g := range polygons {
		to.Add(g)
	}
	// The wider line below keeps an interval visible on a bar like ink.
	for _, style := range []draw.LineStyle{{Color: in.Background, Width: 2.5}, {Color: in.Ink, Width: 1}} {
		for _, ends := range intervals {
			to.Add(&plotter.Line{XYs: ends, LineStyle: style})
		}
	}
	to.Add(numbers)
	places.Tick.Marker, places.Tick.Width = ticks, 0
	if p.Horizontal { // invisible ticks: room for fonts that are wider than ours
		places.Tick.Length, places.Tick.Width, places.Tick.Color = 6, 0.1, in.Background
		for _, label := range p.Labels {
			places.Tick.Length = max(places.Tick.Length, vg.Length(len(label)))
		}
	}
	places.Min, places.Max = -0.5, float64(len(p.Labels))-0.5
	if values.Min, values.Max = 0, p.Top; p.Top == 0 {
		values.Max = max(p.Highest()*1.2, 1e-9)
	}
}

// lines plots lines or points.
func (in Palette) lines(to *plot.Plot, p *eval.Panel) {
	for j, s := range p.Series {
		line := &plotter.Line{LineStyle: draw.LineStyle{Color: in.seriesColour(&s, j), Width: 1.5}}
		for i, x := range s.X {
			if v, ok := s.Value(i); ok {
				line.XYs = append(line.XYs, plotter.XY{X: x, Y: v})
			}
			if low, high, ok := s.Interval(i); ok {
				to.Add(&plotter.Line{XYs: plotter.XYs{{X: x, Y: low}, {X: x, Y: high}}, LineStyle: line.LineStyle})
			}
		}
		if p.Kind != eval.Points {
			to.Add(line)
		}
		if p.Kind == eval.Points || p.Kind == eval.Lines && len(line.XYs) <= 24 {
			to.Add(&plotter.Scatter{XYs: line.XYs, GlyphStyle: draw.GlyphStyle{Color: line.Color, Radius: 2, Shape: draw.CircleGlyph{}}})
		}
	}
	var ticks plot.ConstantTicks
	for i, l := range p.Labels {
		ticks = append(ticks, plot.Tick{Value: p.Ticks[i], Label: l})
		to.X.Tick.Marker = ticks
	}
	if p.Logarithmic {
		for _, a := range []*plot.Axis{&to.X, &to.Y} {
			if a.Min > 0 && a.Max >= a.Min {
				const room = 1.3 // gonum panics at an axis that it widens below zero
				a.Min, a.Max, a.Scale, a.Tick.Marker = a.Min/room, a.Max*room, plot.LogScale{}, decades{}
			}
		}
		return
	}
	if to.Y.Min = 0; p.Top > 0 {
		to.Y.Max = p.Top
	}
}

// cells are those of a heat map as gonum asks for them. Each is several dots wide, so that
// viewers do not blur it.
type cells [][]float64

const each = 4

func (c cells) Dims() (int, int)     { return len(c) * each, len(c) * each }
func (c cells) Z(x, y int) float64   { return c[y/each][x/each] }
func (c cells) X(column int) float64 { return 0.5 + (float64(column)+0.5)/each }
func (c cells) Y(row int) float64    { return c.X(row) }

// number writes a value with three significant digits.
func number(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// decades are the ticks of a logarithmic axis: powers of ten with labels, and smaller ones
// between. Of less than a decade, each has a label.
type decades struct{}

func (decades) Ticks(low, high float64) (ticks []plot.Tick) {
	for e := math.Floor(math.Log10(low)); e <= math.Log10(high); e++ {
		for i := 1.0; i < 10; i++ {
			v := i * math.Pow(10, e)
			if v < low || v > high {
				continue
			}
			t := plot.Tick{Value: v}
			if i == 1 || high/low < 10 {
				t.Label = strconv.FormatFloat(v, 'f', -1, 64)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}
