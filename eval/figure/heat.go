package figure

import (
	"image"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// heat sets the axes for a heat map of values from 0 to 1, and adds it.
func (p *Panel) heat(to *plot.Plot) {
	n := len(p.Cells)
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i + 1)
	}
	places(&to.X, names, 12)
	places(&to.Y, names, 12)
	to.Add(heat{p})
}

// heat draws the cells of a panel, the first row at the bottom.
type heat struct{ *Panel }

// Plot is gonum's way of asking for it.
func (h heat) Plot(c draw.Canvas, to *plot.Plot) {
	x, y := to.Transforms(&c)
	n := len(h.Cells)
	if n == 0 {
		return
	}
	// Each cell is many dots wide, so that no program that shows it blurs it.
	each := max(1, 480/n)
	img := image.NewNRGBA(image.Rect(0, 0, n*each, n*each))
	for i, row := range h.Cells {
		for j, v := range row {
			if math.IsNaN(v) || j >= n {
				continue
			}
			in := heatColour(v)
			for dx := range each {
				for dy := range each {
					img.SetNRGBA(j*each+dx, (n-1-i)*each+dy, in)
				}
			}
		}
	}
	low, high := -0.5, float64(n)-0.5
	c.DrawImage(vg.Rectangle{Min: vg.Point{X: x(low), Y: y(low)}, Max: vg.Point{X: x(high), Y: y(high)}}, img)
	h.scale(&c)
}

// scale shows what the colours mean, in the corner that the cells leave free.
func (h heat) scale(c *draw.Canvas) {
	const w, tall, parts = 8, 70, 35
	left, top := c.Min.X+12, c.Max.Y-10
	s := style(6.5, ink)
	s.YAlign = text.YCenter
	for i := range parts {
		from := top - tall + vg.Length(i)*tall/parts
		next := min(top, from+1.2*tall/parts) // over the edge, or it would shine through
		c.FillPolygon(heatColour((float64(i)+0.5)/parts), []vg.Point{
			{X: left, Y: from}, {X: left + w, Y: from}, {X: left + w, Y: next}, {X: left, Y: next},
		})
	}
	for i, v := range []string{"0.0", "0.5", "1.0"} {
		c.FillText(s, vg.Point{X: left + w + 4, Y: top - tall + vg.Length(i)*tall/2}, v)
	}
}
