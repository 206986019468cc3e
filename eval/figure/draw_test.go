package figure_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/figure"
)

// words are the texts of an SVG, which has to be well-formed.
func words(t *testing.T, svg []byte) (list []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("the SVG is no XML: %v", err)
		}
		if text, ok := token.(xml.CharData); ok && len(bytes.TrimSpace(text)) > 0 {
			list = append(list, string(text))
		}
	}
}

func svg(t *testing.T, c figure.Chart) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := c.SVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// An SVG has the name of everything that is drawn, none of the texts that were asked
// or answered, and the same bytes each time.
func TestSVG(t *testing.T) {
	both := []*eval.Results{tiny(), tiny()}
	all := func() []figure.Chart {
		return slices.Concat(figure.Charts(tiny()), figure.SideBySide(both, figure.ByMachine), figure.SideBySide(both, figure.ByModel))
	}
	again := all()
	for i, c := range all() {
		drawn := svg(t, c)
		if !bytes.Equal(drawn, svg(t, again[i])) {
			t.Errorf("%s: other bytes the second time", c.ID)
		}
		has := words(t, drawn)
		want := []string{c.Title}
		for _, p := range c.Panels {
			if len(p.Labels) < 20 {
				want = append(want, p.Labels...)
			}
			want = append(want, p.Title, p.XLabel, p.YLabel)
			for _, s := range p.Series {
				want = append(want, s.Name)
			}
		}
		for _, w := range want {
			if w != "" && !slices.Contains(has, w) {
				t.Errorf("%s: %q is not there", c.ID, w)
			}
		}
		if bytes.Contains(drawn, []byte(secret)) {
			t.Errorf("%s tells what was asked or answered", c.ID)
		}
	}
}

// A name may be anything.
func TestStrangeNames(t *testing.T) {
	r := tiny()
	const odd = "b<o>b & \"co\"\x00\xff\n'x'"
	r.Units[1].User, r.Run.Users[1].Name = odd, odd
	for _, c := range figure.Charts(r) {
		has := strings.Join(words(t, svg(t, c)), "\n")
		if c.ID == "latency-by-user" && !strings.Contains(has, `b<o>b & "co"? 'x'`) {
			t.Errorf("%s: the user's name is not there:\n%s", c.ID, has)
		}
	}
}

func TestPNG(t *testing.T) {
	for _, c := range figure.Charts(tiny()) {
		if !slices.Contains([]string{"latency-by-user", "likeness-map", "threshold"}, c.ID) {
			continue
		}
		var b, again bytes.Buffer
		if err := errors.Join(c.PNG(&b), c.PNG(&again)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("%s: other bytes the second time", c.ID)
		}
		size := b.Len()
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		if w, h := img.Bounds().Dx(), img.Bounds().Dy(); w != 900 || h < 250 || h > 900 {
			t.Errorf("%s is %d dots wide and %d high", c.ID, w, h)
		}
		if size > 100_000 {
			t.Errorf("%s has %d bytes", c.ID, size)
		}
	}
}

// A bar is as long as its value: of two, the one with twice the value has twice the area.
func TestBarsHaveTheirLength(t *testing.T) {
	red, blue := [3]uint32{0xffff, 0, 0}, [3]uint32{0, 0, 0xffff}
	c := figure.Chart{ID: "x", Title: "x", Panels: []figure.Panel{{
		Kind: figure.Grouped, Horizontal: true, Labels: []string{"a"},
		Series: []figure.Series{{Name: "one", Colour: tint(red), Y: []float64{10}}, {Name: "two", Colour: tint(blue), Y: []float64{20}}},
	}}}
	var b bytes.Buffer
	if err := c.PNG(&b); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	longest := func(want [3]uint32) (most int) {
		for y := range img.Bounds().Dy() {
			n := 0
			for x := range img.Bounds().Dx() {
				if r, g, b, _ := img.At(x, y).RGBA(); [3]uint32{r, g, b} == want {
					n++
				}
			}
			most = max(most, n)
		}
		return most
	}
	one, two := longest(red), longest(blue)
	if one < 300 || two < 2*one-6 || two > 2*one+6 {
		t.Errorf("a bar of 10 is %d dots long, one of 20 is %d", one, two)
	}
}

// tint is a colour by its parts.
type tint [3]uint32

func (c tint) RGBA() (r, g, b, a uint32) { return c[0], c[1], c[2], 0xffff }
