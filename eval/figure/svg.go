package figure

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// SVG draws the chart for a page that can be made larger. Text is text, in a font
// of whoever looks at it, and as wide as it was measured.
func (c *Chart) SVG(w io.Writer) error {
	s := c.lay()
	to := &measured{Canvas: vgsvg.New(width, s.height)}
	s.draw(draw.NewCanvas(to, width, s.height))
	var b bytes.Buffer
	if _, err := to.WriteTo(&b); err != nil {
		return err
	}
	first, rest, _ := strings.Cut(b.String(), "<text ")
	var all strings.Builder
	all.WriteString(first)
	for i, part := range strings.Split(rest, "<text ") {
		if i < len(to.widths) {
			fmt.Fprintf(&all, `<text textLength="%.2f" lengthAdjust="spacingAndGlyphs" `, to.widths[i].Points())
		}
		all.WriteString(part)
	}
	_, err := strings.NewReplacer(
		"font-family:Liberation Sans;", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;",
		"<image ", `<image preserveAspectRatio="none" `, // cells are as wide as their places
		"data:image/jpg;", "data:image/png;", // which they are
		`xlink">`, `xlink" role="img"><title>`+html.EscapeString(clean(c.Title))+`</title>`,
	).WriteString(w, all.String())
	return err
}

// measured keeps how wide each piece of text is, in the order of drawing.
type measured struct {
	*vgsvg.Canvas
	widths []vg.Length
}

// FillString is what a canvas is asked for text with.
func (m *measured) FillString(f font.Face, at vg.Point, txt string) {
	m.widths = append(m.widths, f.Width(txt))
	m.Canvas.FillString(f, at, txt)
}
