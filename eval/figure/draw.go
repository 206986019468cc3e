package figure

import (
	"image/png"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// A chart is so wide; at the dots of a PNG that is 900.
const (
	width  = vg.Length(450)
	dpi    = 144
	margin = vg.Length(8)
	line   = vg.Length(10) // of small text
	above  = vg.Length(14) // a panel is its title
)

// PNG draws the chart in dots.
func (c *Chart) PNG(w io.Writer) error {
	s := c.lay()
	to := vgimg.NewWith(vgimg.UseWH(width, s.height), vgimg.UseDPI(dpi))
	s.draw(draw.NewCanvas(to, width, s.height))
	return (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(w, few(to.Image()))
}

// sheet is a chart with all in its place.
type sheet struct {
	*Chart
	title, note   []string
	legend        [][]sample // by line
	rows, columns int
	head          vg.Length // what stands above the panels
	height        vg.Length
}

func (c *Chart) lay() *sheet {
	s := &sheet{Chart: c, columns: c.Columns}
	if s.columns == 0 {
		s.columns = max(1, len(c.Panels))
	}
	s.rows = max(1, (len(c.Panels)+s.columns-1)/s.columns)
	inner := width - 2*margin
	s.title = wrap(bold(10, ink), c.Title, inner)
	s.note = wrap(style(6.5, faint), c.Note, inner)
	s.legend = c.samples(inner)
	s.head = margin + vg.Length(len(s.title))*13 + vg.Length(len(s.legend))*11 + 6
	if c.Paper != "" {
		s.head += line
	}
	panel := vg.Length(0)
	for _, p := range c.Panels {
		panel = max(panel, p.height(s.rows))
	}
	if s.titled() {
		panel += above
	}
	s.height = s.head + vg.Length(s.rows)*panel + vg.Length(len(s.note))*8.5 + 2*margin
	s.height = vg.Length(math.Ceil(float64(s.height)))
	return s
}

// height is what a panel needs, its title and axes included.
func (p *Panel) height(rows int) vg.Length {
	switch {
	case p.Horizontal && p.Kind == Stacked:
		return 44 + vg.Length(len(p.Labels))*15
	case p.Horizontal:
		return 44 + vg.Length(len(p.Labels))*vg.Length(6+8*max(1, len(p.Series)))
	case p.Kind == Heat:
		return 220
	case rows > 1:
		return 125
	}
	return 160
}

func (s *sheet) draw(c draw.Canvas) {
	c.FillPolygon(rgb(0xFFFFFF), []vg.Point{{}, {X: c.Max.X}, c.Max, {Y: c.Max.Y}})
	y := c.Max.Y - margin
	for _, l := range s.title {
		y -= 13
		c.FillText(bold(10, ink), vg.Point{X: margin, Y: y + 3}, l)
	}
	if s.Paper != "" {
		y -= line
		c.FillText(style(7, faint), vg.Point{X: margin, Y: y + 3}, clean("after "+s.Paper+" of PerCache"))
	}
	for _, l := range s.legend {
		y -= 11
		for _, e := range l {
			e.draw(&c, y+3)
		}
	}
	foot := margin + vg.Length(len(s.note))*8.5
	for i, l := range s.note {
		c.FillText(style(6.5, faint), vg.Point{X: margin, Y: foot - vg.Length(i+1)*8.5 + 2}, l)
	}
	s.panels(draw.Crop(c, margin, -margin, foot+4, -s.head))
}

func (s *sheet) panels(c draw.Canvas) {
	plots := make([][]*plot.Plot, s.rows)
	for i := range plots {
		plots[i] = make([]*plot.Plot, s.columns)
	}
	for i := range s.Panels {
		p := s.Panels[i]
		column := i % s.columns
		if left := i - 1; column > 0 && p.Horizontal && slices.Equal(p.Labels, s.Panels[left].Labels) {
			p.Labels = make([]string, len(p.Labels)) // those on the left are its own too
		}
		plots[i/s.columns][column] = p.plot()
	}
	tiles := draw.Tiles{Rows: s.rows, Cols: s.columns, PadX: 10, PadY: 4}
	if s.titled() {
		tiles.PadTop, tiles.PadY = above, tiles.PadY+above
	}
	at := plot.Align(plots, tiles, c)
	for i := range s.Panels {
		p, area := plots[i/s.columns][i%s.columns], at[i/s.columns][i%s.columns]
		p.Draw(area)
		data := p.DataCanvas(area)
		title := bold(7.5, ink)
		title.XAlign = text.XCenter
		c.FillText(title, vg.Point{X: data.Center().X, Y: data.Max.Y + 5}, fit(title, s.Panels[i].Title, data.Size().X+20))
	}
}

// titled says whether a panel has a title.
func (c *Chart) titled() bool {
	return slices.ContainsFunc(c.Panels, func(p Panel) bool { return p.Title != "" })
}
