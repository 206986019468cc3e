package figure

import (
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
	if colour("percache@threshold=0.6", 3) != colour("percache", 1) || colour("percache (1 of 2)", 2) != colour("percache", 1) {
		t.Error("a variant has another colour")
	}
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
	if s := (&eval.Series{Name: "disk", Colour: 3}); seriesColour(s, 0) != seriesColour(s, 1) || seriesColour(s, 0) != colour("disk", 2) {
		t.Error("the place decides")
	}
}
