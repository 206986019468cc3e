package figure

import (
	"image/color"
	"math"
	"strings"
	"testing"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/systems"
)

// Each system has its own colour, and a variant has its system's.
func TestColours(t *testing.T) {
	names, _ := systems.Names()
	seen := map[uint32]string{}
	for _, name := range names {
		hex, ok := systemColours[name]
		if !ok || seen[hex] != "" {
			t.Errorf("%s has no colour of its own: %q", name, seen[hex])
		}
		seen[hex] = name
	}
	for _, in := range []Palette{Light(), Dark()} {
		if in.colour("percache@threshold=0.6", 3) != in.colour("percache", 1) || in.colour("percache (1 of 2)", 2) != in.colour("percache", 1) {
			t.Error("a variant has another colour")
		}
	}
}

// On a dark page every colour stands out from the background, and no two systems and no two
// other series share one.
func TestDark(t *testing.T) {
	in, names := Dark(), []string{"none of these"}
	contrast := func(c color.Color) float64 { return (luminance(c) + 0.05) / (luminance(in.Background) + 0.05) }
	if got := contrast(in.Ink); got < 7 {
		t.Errorf("text has a contrast of %.2f", got)
	}
	for name := range systemColours {
		names = append(names, name)
	}
	seen := map[color.Color]string{}
	for _, name := range names {
		series := 1
		if _, ok := systemColours[name]; !ok {
			series = len(others)
		}
		for i := range series {
			c := in.colour(name, i)
			if got := contrast(c); got < 3 {
				t.Errorf("%s, series %d: contrast %.2f", name, i, got)
			}
			if seen[c] != "" {
				t.Errorf("%s has the colour of %s", name, seen[c])
			}
			seen[c] = name
		}
	}
}

// luminance is the relative luminance of WCAG 2.
func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	linear := func(v uint32) float64 {
		if x := float64(v) / 0xFFFF; x > 0.04045 {
			return math.Pow((x+0.055)/1.055, 2.4)
		} else {
			return x / 12.92
		}
	}
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

// A logarithmic axis has a label at each power of ten, and at each tick if it is short.
func TestDecades(t *testing.T) {
	for _, tt := range []struct {
		low, high float64
		want      string
	}{
		{0.8, 150, "1 10 100"}, {0.05, 2, "0.1 1"}, {3, 7, "3 4 5 6 7"}, {100_000, 200_000, "100000 200000"},
	} {
		var labels []string
		for _, tick := range (decades{}).Ticks(tt.low, tt.high) {
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("%v to %v: %s", tt.low, tt.high, got)
		}
	}
}

// Series with a number for their colour have the same one at each place.
func TestSeriesColour(t *testing.T) {
	in, s := Light(), (&eval.Series{Name: "disk", Colour: 3})
	if in.seriesColour(s, 0) != in.seriesColour(s, 1) || in.seriesColour(s, 0) != in.colour("disk", 2) {
		t.Error("the place decides")
	}
}
