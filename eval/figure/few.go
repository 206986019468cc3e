package figure

import (
	"cmp"
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
	"maps"
	"slices"
)

// few gives a picture with 256 colours at the most, the ones that it has most of:
// the edges of letters have hundreds that nobody tells apart, and a file with few is
// a third as long.
func few(img image.Image) *image.Paletted {
	bounds := img.Bounds()
	from := image.NewRGBA(bounds)
	draw.Draw(from, bounds, img, bounds.Min, draw.Src)
	counts := map[uint32]int{}
	for i := 0; i < len(from.Pix); i += 4 {
		counts[binary.BigEndian.Uint32(from.Pix[i:])]++
	}
	all := slices.SortedFunc(maps.Keys(counts), func(a, b uint32) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	const most = 256
	palette := make(color.Palette, 0, most)
	index := map[uint32]uint8{}
	for i, c := range all {
		rgba := color.RGBA{R: uint8(c >> 24), G: uint8(c >> 16), B: uint8(c >> 8), A: uint8(c)}
		if i < most {
			palette = append(palette, rgba)
			index[c] = uint8(i)
			continue
		}
		index[c] = uint8(palette.Index(rgba))
	}
	to := image.NewPaletted(bounds, palette)
	for i := range to.Pix {
		to.Pix[i] = index[binary.BigEndian.Uint32(from.Pix[4*i:])]
	}
	return to
}
