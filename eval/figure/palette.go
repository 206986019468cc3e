package figure

import (
	"image/color"
	"strings"

	"github.com/percached/percached/eval"
)

// Palette has the colours of a figure on a light or on a dark page.
type Palette struct {
	Background, Ink, Grid color.Color
	replaced              map[uint32]uint32 // colours of data that this background swallows
}

// Light is the palette for a white page.
func Light() Palette { return Palette{rgb(0xFFFFFF), rgb(0x222222), rgb(0xDDDDDD), nil} }

// Dark is the palette for a dark page. Every colour of data has a contrast of at least 3:1 to
// the background, as WCAG asks of graphics.
func Dark() Palette {
	return Palette{rgb(0x16181D), rgb(0xDDDDDD), rgb(0x3A3F47), map[uint32]uint32{
		0x505050: 0xEEEEEE, 0x004A73: 0x6C8EF5, 0x8C3D00: 0xA8683C, 0x990000: 0xFF5A5A, // systems
		0x4433AA: 0x8C7AE6, 0x882255: 0xC2558D, // others
	}}
}

func rgb(hex uint32) color.Color {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 255}
}

// systemColours are those of Okabe and Ito, which colour-blind readers can tell apart;
// related systems have shades of one colour.
var systemColours = map[string]uint32{
	"naive": 0x777777, "naive-whole": 0xBBBBBB, "naive-parallel": 0x505050,
	"ragcache": 0x0072B2, "ragcache-parallel": 0x004A73, "meancache": 0x56B4E9,
	"sleep-time": 0xF0E442, "ragcache+meancache": 0x009E73, "ragcache+sleep-time": 0xCC79A7,
	"percache": 0xE69F00, "percache-fixed": 0x8A6A1F, "percached": 0xD55E00, "percached-sequential": 0x8C3D00,
	"percached-no-bank": 0xE58A4D, "percached-no-tensors": 0xEEAE84, "percached-no-drafts": 0xC97B63,
	"percached-no-prediction": 0xF5CDB3, "percached-no-idle": 0xFAE5D8, "poisoned": 0x990000,
}

// others are for series that are not systems: Tol's muted colours and two greys.
var others = []uint32{
	0x4433AA, 0xDDCC77, 0x44AA99, 0xCC6677, 0x117733, 0x88CCEE, 0x882255, 0x999933, 0xAA4499, 0x888888, 0xDDDDDD,
}

// colour is that of a system, or else of series number i. A variant has its system's
// colour.
func (in Palette) colour(name string, i int) color.Color {
	name, _, _ = strings.Cut(name, " (")
	system, _, _ := strings.Cut(name, "@")
	hex, ok := systemColours[system]
	if !ok {
		hex = others[i%len(others)]
	}
	if instead, ok := in.replaced[hex]; ok {
		hex = instead
	}
	return rgb(hex)
}

// seriesColour is the colour of the series at a place of a panel.
func (in Palette) seriesColour(s *eval.Series, place int) color.Color {
	if s.Colour > 0 {
		place = s.Colour - 1
	}
	return in.colour(s.Name, place)
}
