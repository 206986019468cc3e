package figure

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// sample is an entry of a legend: how a series looks, and what it is called.
type sample struct {
	Series
	kind Kind
	x    vg.Length
}

// samples puts the legend's entries in lines: each name once, none for a single
// series whose places have colours and names of their own.
func (c *Chart) samples(width vg.Length) (lines [][]sample) {
	seen := map[string]bool{}
	x := width + 1
	for _, p := range c.Panels {
		if len(p.Colours) > 0 {
			continue
		}
		for _, s := range p.Series {
			if s.Name == "" || seen[s.Name] {
				continue
			}
			seen[s.Name] = true
			s.Name = short(s.Name, 60)
			takes := 24 + style(7.5, ink).Width(s.Name)
			if x+takes-10 > width {
				lines, x = append(lines, nil), 0
			}
			last := len(lines) - 1
			lines[last] = append(lines[last], sample{s, p.Kind, margin + x})
			x += takes
		}
	}
	return lines
}

func (e sample) draw(c *draw.Canvas, y vg.Length) {
	const w, h = 11, 6
	switch {
	case e.Mark:
		c.StrokeLine2(draw.LineStyle{Color: e.Colour, Width: 1.5}, e.x+w/2, y-1, e.x+w/2, y+h+1)
	case e.kind == Points:
		c.DrawGlyphNoClip(dot(e.Colour), vg.Point{X: e.x + w/2, Y: y + h/2})
	case e.kind == Lines || e.kind == Cumulative:
		c.StrokeLine2(e.stroke(), e.x, y+h/2, e.x+w, y+h/2)
	default:
		box(c, e.Colour, vg.Point{X: e.x, Y: y}, vg.Point{X: e.x + w, Y: y + h})
	}
	c.FillText(style(7.5, ink), vg.Point{X: e.x + w + 3, Y: y}, e.Name)
}

func (s Series) stroke() draw.LineStyle {
	return draw.LineStyle{Color: s.Colour, Width: 1.4}
}

// box fills a rectangle, with an edge: pale colours on white need one.
func box(c *draw.Canvas, in color.Color, a, b vg.Point) {
	corners := []vg.Point{a, {X: b.X, Y: a.Y}, b, {X: a.X, Y: b.Y}}
	c.FillPolygon(in, corners)
	c.StrokeLines(draw.LineStyle{Color: rgb(faint), Width: 0.25}, append(corners, a))
}

func dot(in color.Color) draw.GlyphStyle {
	return draw.GlyphStyle{Color: in, Radius: 1.8, Shape: draw.CircleGlyph{}}
}
