package pdf

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// widthTable holds the widths of the characters from space to tilde, in thousandths of
// the font's size.
type widthTable [95]uint16

// Files may use these fonts without their widths, since every PDF reader knows them.
var (
	helvetica = widthTable{
		278, 278, 355, 556, 556, 889, 667, 222, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556,
		556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
		667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 222, 556, 556, 500, 556, 556, 278, 556,
		556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
	}
	helveticaBold = widthTable{
		278, 333, 474, 556, 556, 889, 722, 278, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556,
		556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833, 722, 778,
		667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556, 278, 556, 611, 556, 611, 556, 333, 611,
		611, 278, 278, 556, 278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584,
	}
	times = widthTable{
		250, 333, 408, 500, 500, 833, 778, 333, 333, 333, 500, 564, 250, 333, 250, 278, 500, 500, 500, 500, 500, 500, 500, 500,
		500, 500, 278, 278, 564, 564, 564, 444, 921, 722, 667, 667, 722, 611, 556, 722, 722, 333, 389, 722, 611, 889, 722, 722,
		556, 722, 667, 556, 611, 722, 722, 944, 722, 722, 611, 333, 278, 333, 469, 500, 333, 444, 500, 444, 500, 444, 333, 500,
		500, 278, 278, 500, 278, 778, 500, 500, 500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480, 200, 480, 541,
	}
	timesBold = widthTable{
		250, 333, 555, 500, 500, 1000, 833, 333, 333, 333, 500, 570, 250, 333, 250, 278, 500, 500, 500, 500, 500, 500, 500, 500,
		500, 500, 333, 333, 570, 570, 570, 500, 930, 722, 667, 722, 722, 667, 611, 778, 778, 389, 500, 778, 667, 944, 722, 778,
		611, 778, 722, 556, 667, 722, 722, 1000, 722, 722, 667, 333, 278, 333, 581, 500, 333, 500, 556, 444, 556, 444, 333, 500,
		556, 278, 333, 556, 278, 833, 556, 500, 556, 556, 444, 389, 333, 556, 500, 722, 500, 500, 444, 394, 220, 394, 520,
	}
)

// standardWidth is the width of a character in a font without widths, by the font's
// name.
func standardWidth(font name, text string) float64 {
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(string(font), part) {
				return true
			}
		}
		return false
	}
	bold := has("Bold", "bold", "Black")
	table := helvetica
	switch serif := has("Times", "Roman", "Serif", "Georgia", "Garamond", "Symbol"); {
	case has("Courier", "Mono", "Consol", "Typewriter"):
		return 600
	case serif && bold:
		table = timesBold
	case serif:
		table = times
	case bold:
		table = helveticaBold
	}
	r, _ := utf8.DecodeRuneInString(norm.NFD.String(text)) // an accent takes no room
	switch {
	case r >= ' ' && r <= '~':
		return float64(table[r-' '])
	case r == '—' || r == '…' || r == '™':
		return 1000
	case r >= 'Α' && r <= 'Ω', r >= 'А' && r <= 'Я':
		return 700
	}
	return 500
}
