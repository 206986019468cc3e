package figure

import (
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	_ "gonum.org/v1/plot/vg/vgimg" // registers the format png
	_ "gonum.org/v1/plot/vg/vgsvg" // registers the format svg

	"github.com/percached/percached/eval"
)

const width, margin, head vg.Length = 600, 10, 34 // head is the strip with the title

// Draw writes a figure in a format, svg or png.
func Draw(w io.Writer, f *eval.Figure, format string, in Palette) error {
	columns, rows := f.Columns, (len(f.Panels)+f.Columns-1)/f.Columns
	plots, tall := make([][]*plot.Plot, rows), vg.Length(0)
	for i := range f.Panels {
		p := &f.Panels[i]
		made := in.panel(p)
		if left := i - 1; i%columns > 0 && p.Horizontal && slices.Equal(p.Labels, f.Panels[left].Labels) {
			made.Y.Tick.Marker = plot.ConstantTicks{} // the panel on the left has the labels
		}
		plots[i/columns] = append(plots[i/columns], made)
		tall = max(tall, height(p))
	}
	last := rows - 1
	plots[last] = append(plots[last], make([]*plot.Plot, columns-len(plots[last]))...)
	tall = tall*vg.Length(rows) + head + margin

	to, err := draw.NewFormattedCanvas(width, tall, format)
	if err != nil {
		return err
	}
	c := draw.New(to)
	c.FillPolygon(in.Background, []vg.Point{{}, {X: width}, {X: width, Y: tall}, {Y: tall}})
	legend := in.legend(f)
	title := legend.TextStyle
	title.Font.Size = 13
	c.FillText(title, vg.Point{X: margin, Y: tall - 22}, f.Title)
	right := 1.15*legend.Rectangle(c).Size().X + 2*margin // room for wider fonts
	legend.Draw(draw.Crop(c, width-right+margin, 0, 0, -head))
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: 12, PadY: 8, PadLeft: margin, PadRight: right, PadTop: head, PadBottom: margin}
	for i, row := range plot.Align(plots, tiles, c) {
		for j, area := range row {
			if plots[i][j] != nil {
				plots[i][j].Draw(area)
			}
		}
	}
	var drawn strings.Builder
	if _, err := to.WriteTo(&drawn); err != nil {
		return err
	}
	text := drawn.String()
	if format == "svg" { // vgsvg names one font alone, and blurs pictures
		text = compact(strings.NewReplacer("font-family:Liberation Sans;", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;",
			"font-variant:normal;", "", "font-weight:normal;", "", "font-style:normal;", "",
			"<image ", `<image preserveAspectRatio="none" style="image-rendering:pixelated" `, "data:image/jpg;", "data:image/png;").Replace(text))
	}
	_, err = io.WriteString(w, text)
	return err
}

// legend has each named series once.
func (in Palette) legend(f *eval.Figure) plot.Legend {
	legend, named := plot.NewLegend(), map[string]bool{}
	in.style(&legend.TextStyle, 9)
	legend.Top, legend.Left, legend.Padding = true, true, 2
	for _, p := range f.Panels {
		for i, s := range p.Series {
			if s.Name != "" && !named[s.Name] {
				named[s.Name] = true
				legend.Add(s.Name, &plotter.Polygon{Color: in.seriesColour(&s, i)})
			}
		}
	}
	return legend
}

func (in Palette) style(s *text.Style, size vg.Length) {
	s.Font, s.Color = font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, in.Ink
}
