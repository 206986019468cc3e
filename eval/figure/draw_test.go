package figure_test

import (
	"bytes"
	"encoding/xml"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/figure"
)

// example has a panel of each kind.
func example() *eval.Figure {
	nan := math.NaN()
	series := []eval.Series{
		{Name: "naive", X: []float64{1, 2, 3}, Y: []float64{10, nan, 30}, Low: []float64{5, nan, 20}, High: []float64{15, nan, 40}},
		{Name: "percached", X: []float64{1, 2, 3}, Y: []float64{1, 2, 3}},
	}
	labels := []string{"first", "second", "third"}
	return &eval.Figure{
		ID: "example", Title: "All kinds of panels", Columns: 3,
		Panels: []eval.Panel{
			{Title: "bars", Kind: eval.Bars, Horizontal: true, XLabel: "ms", Labels: labels, Series: series},
			{Title: "more bars", Kind: eval.Bars, Horizontal: true, Labels: labels, Series: series},
			{Title: "upright", Kind: eval.Stacked, YLabel: "share", Labels: labels, Series: series},
			{Title: "lines", Kind: eval.Lines, Labels: []string{"low", "high"}, Ticks: []float64{1, 3}, Series: series},
			{Title: "points", Kind: eval.Points, Series: series},
			{Title: "map", Kind: eval.Heat, Cells: [][]float64{{1, 0.5}, {nan, 1}}},
			{Title: "nothing", Kind: eval.Bars, Labels: labels, Series: []eval.Series{{Y: []float64{nan, nan, nan}}}},
		},
	}
}

func drawn(t *testing.T, f *eval.Figure, format string, in figure.Palette) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := figure.Draw(&b, f, format, in); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// An SVG is XML and has every name. The same figure gives the same bytes.
func TestSVG(t *testing.T) {
	f := example()
	light, dark := drawn(t, f, "svg", figure.Light()), drawn(t, f, "svg", figure.Dark())
	if !bytes.Equal(light, drawn(t, f, "svg", figure.Light())) {
		t.Error("different bytes the second time")
	}
	if bytes.Equal(light, dark) {
		t.Error("the dark form is the light one")
	}
	for _, svg := range [][]byte{light, dark} {
		if err := xml.Unmarshal(svg, new(struct{})); err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{f.Title, "bars", "upright", "first", "third", "naive", "percached", "ms", "share", "high"} {
			if !bytes.Contains(svg, []byte(">"+word+"<")) {
				t.Errorf("no %q", word)
			}
		}
	}
}

// Both palettes fill the background, and a bar is as long as its value.
func TestPNG(t *testing.T) {
	f := &eval.Figure{ID: "x", Columns: 1, Panels: []eval.Panel{{
		Kind: eval.Bars, Horizontal: true, Labels: []string{"a"},
		Series: []eval.Series{{Name: "percached", Y: []float64{10}}, {Name: "ragcache", Y: []float64{20}}},
	}}}
	for _, in := range []figure.Palette{figure.Light(), figure.Dark()} {
		img, err := png.Decode(bytes.NewReader(drawn(t, f, "png", in)))
		if err != nil {
			t.Fatal(err)
		}
		same := func(a, b color.Color) bool {
			return color.NRGBAModel.Convert(a) == color.NRGBAModel.Convert(b)
		}
		if size := img.Bounds(); size.Dx() != 800 || size.Dy() < 100 || !same(img.At(3, size.Dy()-3), in.Background) {
			t.Errorf("%v, corner %v", size, img.At(3, size.Dy()-3))
		}
		longest := func(want color.Color) int {
			var rows []int
			for y := range img.Bounds().Dy() {
				n := 0
				for x := range 690 { // without the legend
					if same(img.At(x, y), want) {
						n++
					}
				}
				rows = append(rows, n)
			}
			return slices.Max(rows)
		}
		short, long := longest(color.NRGBA{0xD5, 0x5E, 0, 255}), longest(color.NRGBA{0, 0x72, 0xB2, 255})
		if short < 150 || long < 2*short-8 || long > 2*short+8 {
			t.Errorf("a bar of 10 is %d dots long, one of 20 is %d", short, long)
		}
	}
}

// An SVG names each style once, and the bars of a series are one path: a figure of many bars
// stays small.
func TestCompact(t *testing.T) {
	f := &eval.Figure{ID: "x", Columns: 1, Panels: []eval.Panel{{Kind: eval.Stacked, YLabel: "ms"}}}
	p := &f.Panels[0]
	for i := range 4 {
		s := eval.Series{Name: strconv.Itoa(i)}
		for j := range 100 {
			s.Y = append(s.Y, float64(1+(7*i+j)%13))
		}
		p.Series = append(p.Series, s)
	}
	for j := range 100 {
		p.Labels = append(p.Labels, strconv.Itoa(j+1))
	}
	svg := drawn(t, f, "svg", figure.Light())
	if n := bytes.Count(svg, []byte("Z")); n < 400 {
		t.Errorf("%d bars of 400", n)
	}
	if n := bytes.Count(svg, []byte("<path")); n > 30 {
		t.Errorf("%d paths", n)
	}
	if len(svg) > 20_000 || bytes.Count(svg, []byte("style=")) > 0 || bytes.Count(svg, []byte("<style>")) != 1 {
		t.Errorf("%d bytes, styles: %d", len(svg), bytes.Count(svg, []byte("style=")))
	}
}
