package figure

import (
	"hash/fnv"
	"image/color"
	"math"
	"strings"
)

func rgb(hex uint32) color.Color {
	return color.NRGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 255}
}

// ink and its shades are what is not data.
const (
	ink   = 0x222222
	faint = 0x666666
	rule  = 0xDDDDDD
)

// systemColours are Okabe's and Ito's, which people who do not see all colours
// tell apart; what is like another system has a lighter or darker one of it.
var systemColours = map[string]uint32{
	"naive":                   0x777777,
	"naive-whole":             0xBBBBBB,
	"naive-parallel":          0x444444,
	"ragcache":                0x0072B2,
	"ragcache-parallel":       0x004A73,
	"meancache":               0x56B4E9,
	"sleep-time":              0xF0E442,
	"ragcache+meancache":      0x009E73,
	"ragcache+sleep-time":     0xCC79A7,
	"percache":                0xE69F00,
	"percache-fixed":          0x8A6A1F,
	"percached":               0xD55E00,
	"percached-sequential":    0x8C3D00,
	"percached-no-bank":       0xE58A4D,
	"percached-no-tensors":    0xEEAE84,
	"percached-no-prediction": 0xF5CDB3,
	"percached-no-idle":       0xFAE5D8,
}

// systemColour is the colour of a system; a variant has that of what it varies.
func systemColour(name string) color.Color {
	of, _, _ := strings.Cut(name, "@")
	if hex, ok := systemColours[of]; ok {
		return rgb(hex)
	}
	h := fnv.New32a()
	h.Write([]byte(of))
	return other(int(h.Sum32() % 8))
}

// others are Tol's muted colours, for what is no system.
var others = []uint32{0x332288, 0xDDCC77, 0x44AA99, 0xCC6677, 0x88CCEE, 0x117733, 0x882255, 0x999933, 0xAA4499}

func other(i int) color.Color { return rgb(others[i%len(others)]) }

// heatColours run from little to much, ever lighter, so that they read in grey too.
var heatColours = []uint32{0x440154, 0x3B528B, 0x21918C, 0x5EC962, 0xFDE725}

// heatColour is that of a share from 0 to 1.
func heatColour(share float64) color.NRGBA {
	share = math.Max(0, math.Min(1, share)) * float64(len(heatColours)-1)
	i := min(int(share), len(heatColours)-2)
	a, b := rgb(heatColours[i]).(color.NRGBA), rgb(heatColours[i+1]).(color.NRGBA)
	mix := func(x, y uint8) uint8 {
		return uint8(math.Round(float64(x) + (float64(y)-float64(x))*(share-float64(i))))
	}
	return color.NRGBA{R: mix(a.R, b.R), G: mix(a.G, b.G), B: mix(a.B, b.B), A: 255}
}

// stageColours are Tol's muted colours and two greys, by stage.
var stageColours = []uint32{0x332288, 0x88CCEE, 0x999933, 0xCC6677, 0x117733, 0xDDCC77, 0x44AA99, 0x882255, 0xAA4499, 0x666666, 0xDDDDDD}

func stageColour(i int) color.Color { return rgb(stageColours[i%len(stageColours)]) }
